//! The metrics of Mooring, for Prometheus. No label contains an address or a pod, so cardinality depends on the number
//! of blocks and calls, not on the size of the cluster.

mod register;
mod webhook;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor as _};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use register::{
    CALL_SECONDS, Histograms, Labels, Seconds, WAIT_SECONDS, build, changes_of_place, counter,
    ec2_calls, failovers, family, gauge, rejected,
};

/// The `Content-Type` of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics of the process. Clones share the same values.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    addresses: Family<Labels<2>, Gauge>,
    probed: Family<Labels<2>, Gauge>,
    inventories: Family<Labels<1>, Gauge>,
    moves: Histogram,
    attaches: Histogram,
    failovers: Histograms<1>,
    ec2_requests: Family<Labels<2>, Counter>,
    ec2_tokens: Family<Labels<1>, Gauge>,
    ec2_durations: Histograms<1>,
    admissions: Histograms<2>,
    webhook_panics: Counter,
    webhook_rejected: Family<Labels<1>, Counter>,
    certificate_expiry: Gauge<f64, AtomicU64>,
    reconcile_errors: Family<Labels<1>, Counter>,
    events_dropped: Counter,
    describe_lag_exceeded: Counter,
    leader: Gauge,
    node_parts_away: Gauge,
    brakes: Family<Labels<1>, Gauge>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All metrics with their initial values.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("mooring");
        let moves = Seconds(&WAIT_SECONDS).new_metric();
        let attaches = Seconds(&WAIT_SECONDS).new_metric();
        let ec2_durations = Histograms::new_with_constructor(Seconds(&CALL_SECONDS));
        let admissions = Histograms::new_with_constructor(Seconds(&CALL_SECONDS));
        let certificate_expiry = Gauge::<f64, AtomicU64>::default();
        let addresses = family(
            &mut registry,
            "addresses",
            "Addresses of a block by state: free, foreign (used by others), reserved, claimed, attached, not_programmed \
             (attached, but its node does not pass packets) or deleting (its IP is being deleted)",
        );
        let probed = family(
            &mut registry,
            "probed_addresses",
            "Attached addresses of a block with a probe: verified (the target sees the address) or not_verified",
        );
        let inventories = family(
            &mut registry,
            "inventory_timestamp_seconds",
            "Start time of the last complete inventory of the interfaces of a subnet, in seconds since 1970; 0 \
             before the first. Changes by others in EC2 are known only up to this time",
        );
        changes_of_place(&mut registry, &moves, &attaches);
        let failovers = failovers(&mut registry);
        let (ec2_requests, ec2_tokens) = ec2_calls(&mut registry);
        registry.register(
            "ec2_request_duration_seconds",
            "Duration of requests to EC2",
            ec2_durations.clone(),
        );
        registry.register(
            "admission_duration_seconds",
            "Duration of admission reviews",
            admissions.clone(),
        );
        let webhook_panics = counter(
            &mut registry,
            "webhook_panics",
            "Reviews that were refused because of a panic: a bug in Mooring",
        );
        let webhook_rejected = rejected(&mut registry);
        registry.register(
            "webhook_certificate_expiry_timestamp_seconds",
            "Expiry time of the certificate that the webhook serves, in seconds since 1970",
            certificate_expiry.clone(),
        );
        let reconcile_errors = family(
            &mut registry,
            "reconcile_errors",
            "Steps of the controller that failed, by reason",
        );
        let events_dropped = counter(
            &mut registry,
            "events_dropped",
            "Events that were not posted because too many waited: the API server was too slow for them",
        );
        let describe_lag_exceeded = counter(
            &mut registry,
            "describe_lag_exceeded",
            "Addresses that an inventory does not show where EC2 confirmed them more than 10 s before",
        );
        let leader = gauge(
            &mut registry,
            "leader",
            "1 while this process holds the lease",
        );
        let node_parts_away = gauge(
            &mut registry,
            "node_parts_away",
            "Nodes with attached addresses of blocks with spec.node whose node part does not report any more",
        );
        let brakes = family(
            &mut registry,
            "brake_engaged",
            "1 while releases that are inferred from absence wait for a confirmation by a person",
        );
        build(&mut registry);
        Self(Arc::new(Inner {
            registry,
            addresses,
            probed,
            inventories,
            moves,
            attaches,
            failovers,
            ec2_requests,
            ec2_tokens,
            ec2_durations,
            admissions,
            webhook_panics,
            webhook_rejected,
            certificate_expiry,
            reconcile_errors,
            events_dropped,
            describe_lag_exceeded,
            leader,
            node_parts_away,
            brakes,
        }))
    }

    /// Sets the number of addresses of a block in this state.
    pub fn addresses(&self, block: &str, state: &'static str, n: u64) {
        self.0
            .addresses
            .get_or_create(&[("block", block.to_owned()), ("state", state.to_owned())])
            .set(i64::try_from(n).unwrap_or(i64::MAX));
    }

    /// Sets the number of addresses of a block that the target of its probe sees (`verified`) or not (`not_verified`).
    pub fn probed_addresses(&self, block: &str, state: &'static str, n: u64) {
        self.0
            .probed
            .get_or_create(&[("block", block.to_owned()), ("state", state.to_owned())])
            .set(i64::try_from(n).unwrap_or(i64::MAX));
    }

    /// Removes the metric of a block that has no probe any more or is gone.
    pub fn forget_probed(&self, block: &str, state: &'static str) {
        let labels = [("block", block.to_owned()), ("state", state.to_owned())];
        self.0.probed.remove(&labels);
    }

    /// Removes the metrics of a block that is gone: these states, and its brake.
    pub fn forget_block(&self, block: &str, states: &[&'static str]) {
        for state in states {
            let labels = [("block", block.to_owned()), ("state", (*state).to_owned())];
            self.0.addresses.remove(&labels);
        }
        self.0.brakes.remove(&[("block", block.to_owned())]);
    }

    /// Sets when the last complete inventory of a subnet was begun, in seconds since 1970. 0: there is none yet.
    pub fn inventory(&self, subnet: &str, begun: i64) {
        self.0
            .inventories
            .get_or_create(&[("subnet", subnet.to_owned())])
            .set(begun);
    }

    /// Removes the metric of a subnet without further inventories.
    pub fn forget_inventory(&self, subnet: &str) {
        self.0.inventories.remove(&[("subnet", subnet.to_owned())]);
    }

    /// Counts a move of an address, with the time from its claim to its record.
    pub fn moved_in(&self, seconds: f64) {
        self.0.moves.observe(seconds);
    }

    /// Counts the attach of a free address, with the time from its claim to its record.
    pub fn attached_in(&self, seconds: f64) {
        self.0.attaches.observe(seconds);
    }

    /// Counts a part of a failover that has ended, with its duration.
    pub fn failover(&self, part: &'static str, seconds: f64) {
        let labels = [("part", part.to_owned())];
        self.0.failovers.get_or_create(&labels).observe(seconds);
    }

    /// Counts a call of EC2. `code` is `OK`, a code of EC2, or a code of Mooring (`cloud::ec2::classify::code`).
    pub fn ec2_request(&self, action: &str, code: &str, seconds: f64) {
        let labels = [("action", action.to_owned()), ("code", code.to_owned())];
        self.0.ec2_requests.get_or_create(&labels).inc();
        self.0
            .ec2_durations
            .get_or_create(&[("action", action.to_owned())])
            .observe(seconds);
    }

    /// Creates a counter for each reason for which steps of the controller can fail, so that it exists before the first
    /// failure.
    pub fn reconcile_errors_of(&self, reasons: impl Iterator<Item = &'static str>) {
        for reason in reasons {
            let labels = [("reason", reason.to_owned())];
            drop(self.0.reconcile_errors.get_or_create(&labels));
        }
    }

    /// Counts a failed step of the controller.
    pub fn reconcile_error(&self, reason: &str) {
        self.0
            .reconcile_errors
            .get_or_create(&[("reason", reason.to_owned())])
            .inc();
    }

    /// Counts an Event that was dropped because the queue was full.
    pub fn event_dropped(&self) {
        self.0.events_dropped.inc();
    }

    /// Counts a Describe that lags for longer than the assumed bound.
    pub fn describe_lag_exceeded(&self) {
        self.0.describe_lag_exceeded.inc();
    }

    /// Sets whether this process holds the lease.
    pub fn leader(&self, leading: bool) {
        self.0.leader.set(i64::from(leading));
    }

    /// Sets the number of nodes with attached addresses whose node part is away.
    pub fn node_parts_away(&self, nodes: u64) {
        let nodes = i64::try_from(nodes).unwrap_or(i64::MAX);
        self.0.node_parts_away.set(nodes);
    }

    /// Sets the number of calls of this action that may be made at once.
    pub fn ec2_tokens(&self, action: &'static str, tokens: u64) {
        self.0
            .ec2_tokens
            .get_or_create(&[("action", action.to_owned())])
            .set(i64::try_from(tokens).unwrap_or(i64::MAX));
    }

    /// Removes the metric of an action that this process makes no calls of any more.
    pub fn forget_ec2_tokens(&self, action: &'static str) {
        self.0.ec2_tokens.remove(&[("action", action.to_owned())]);
    }

    /// Sets whether the brake of a block is engaged.
    pub fn brake(&self, block: &str, engaged: bool) {
        self.0
            .brakes
            .get_or_create(&[("block", block.to_owned())])
            .set(i64::from(engaged));
    }

    /// Encodes all metrics in the format of [`CONTENT_TYPE`].
    ///
    /// # Errors
    /// A metric that cannot be written as text.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.0.registry)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
