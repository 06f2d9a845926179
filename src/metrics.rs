//! What Mooring counts, for Prometheus. No label names an address or a pod: cardinality follows the
//! blocks and the calls, not the cluster.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};

/// What [`Metrics::encode`] writes, as a `Content-Type`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels<const N: usize> = [(&'static str, String); N];

/// From a millisecond to half a minute: admission's answers and EC2's calls.
const CALL_SECONDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// From a tenth of a second to half an hour: what a pod waits for its address.
const WAIT_SECONDS: [f64; 12] = [
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 1800.0,
];

#[derive(Clone)]
struct Seconds(&'static [f64]);

impl MetricConstructor<Histogram> for Seconds {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

type Histograms<const N: usize> = Family<Labels<N>, Histogram, Seconds>;

/// The process's metrics. Clones count into the same place.
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
    certificate_expiry: Gauge<f64, AtomicU64>,
    reconcile_errors: Family<Labels<1>, Counter>,
    events_dropped: Counter,
    describe_lag_exceeded: Counter,
    leader: Gauge,
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
    /// Nothing counted yet.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("mooring");
        let moves = Seconds(&WAIT_SECONDS).new_metric();
        let attaches = Seconds(&WAIT_SECONDS).new_metric();
        let ec2_durations = Histograms::new_with_constructor(Seconds(&CALL_SECONDS));
        let admissions = Histograms::new_with_constructor(Seconds(&CALL_SECONDS));
        let certificate_expiry = Gauge::<f64, AtomicU64>::default();
        let leader = Gauge::<i64>::default();
        let addresses = family(
            &mut registry,
            "addresses",
            "Addresses of a block, each in one state: free; foreign (others have it); or an IP's: reserved, \
             claimed, attached, or deleting (the IP is being deleted and the address not yet let go)",
        );
        let probed = family(
            &mut registry,
            "probed_addresses",
            "Attached addresses of a block with a probe: verified (the target sees the address) or not_verified",
        );
        let inventories = family(
            &mut registry,
            "inventory_timestamp_seconds",
            "When the last complete inventory of a subnet's interfaces was begun, in seconds since 1970; 0 \
             before the first. Until the next nothing that others changed in EC2 is known",
        );
        registry.register(
            "move_duration_seconds",
            "From the claim that moves an address to the record of its new place",
            moves.clone(),
        );
        registry.register(
            "attach_duration_seconds",
            "From the claim of a free address to the record of its place",
            attaches.clone(),
        );
        let failovers = failovers(&mut registry);
        let (ec2_requests, ec2_tokens) = ec2_calls(&mut registry);
        registry.register(
            "ec2_request_duration_seconds",
            "How long EC2 took to answer",
            ec2_durations.clone(),
        );
        registry.register(
            "admission_duration_seconds",
            "How long an admission review took",
            admissions.clone(),
        );
        let webhook_panics = counter(
            &mut registry,
            "webhook_panics",
            "Reviews that were refused because deciding panicked: a fault of Mooring",
        );
        registry.register(
            "webhook_certificate_expiry_timestamp_seconds",
            "When the certificate that the webhook serves ends, in seconds since 1970",
            certificate_expiry.clone(),
        );
        let reconcile_errors = family(
            &mut registry,
            "reconcile_errors",
            "Steps of the controller that failed, by why",
        );
        let events_dropped = counter(
            &mut registry,
            "events_dropped",
            "Events that were not posted because too many waited: the API server was too slow for them",
        );
        let describe_lag_exceeded = counter(
            &mut registry,
            "describe_lag_exceeded",
            "Addresses that an inventory does not show where EC2 has put them by an answer of more than 10 s before",
        );
        registry.register(
            "leader",
            "1 while this process holds the lease",
            leader.clone(),
        );
        let brakes = family(
            &mut registry,
            "brake_engaged",
            "1 while releases inferred from absence wait for a person",
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
            certificate_expiry,
            reconcile_errors,
            events_dropped,
            describe_lag_exceeded,
            leader,
            brakes,
        }))
    }

    /// How many addresses of a block are in this state.
    pub fn addresses(&self, block: &str, state: &'static str, n: u64) {
        self.0
            .addresses
            .get_or_create(&[("block", block.to_owned()), ("state", state.to_owned())])
            .set(i64::try_from(n).unwrap_or(i64::MAX));
    }

    /// How many addresses of a block the target of its probe sees (`verified`) or does not see (`not_verified`).
    pub fn probed_addresses(&self, block: &str, state: &'static str, n: u64) {
        self.0
            .probed
            .get_or_create(&[("block", block.to_owned()), ("state", state.to_owned())])
            .set(i64::try_from(n).unwrap_or(i64::MAX));
    }

    /// A block has no probe any more, or is gone.
    pub fn forget_probed(&self, block: &str, state: &'static str) {
        let labels = [("block", block.to_owned()), ("state", state.to_owned())];
        self.0.probed.remove(&labels);
    }

    /// A block that is gone is no longer shown in these states, nor its brake.
    pub fn forget_block(&self, block: &str, states: &[&'static str]) {
        for state in states {
            let labels = [("block", block.to_owned()), ("state", (*state).to_owned())];
            self.0.addresses.remove(&labels);
        }
        self.0.brakes.remove(&[("block", block.to_owned())]);
    }

    /// When the last complete inventory of a subnet was begun, in seconds since 1970; 0: there is none yet.
    pub fn inventory(&self, subnet: &str, begun: i64) {
        self.0
            .inventories
            .get_or_create(&[("subnet", subnet.to_owned())])
            .set(begun);
    }

    /// No inventories of this subnet are taken any more.
    pub fn forget_inventory(&self, subnet: &str) {
        self.0.inventories.remove(&[("subnet", subnet.to_owned())]);
    }

    /// An address was moved: the time from its claim to its record.
    pub fn moved_in(&self, seconds: f64) {
        self.0.moves.observe(seconds);
    }

    /// A free address was attached: the time from its claim to its record.
    pub fn attached_in(&self, seconds: f64) {
        self.0.attaches.observe(seconds);
    }

    /// A part of a failover has ended.
    pub fn failover(&self, part: &'static str, seconds: f64) {
        let labels = [("part", part.to_owned())];
        self.0.failovers.get_or_create(&labels).observe(seconds);
    }

    /// EC2 answered a call, or did not: `code` is `OK`, one of EC2's or one of our own.
    pub fn ec2_request(&self, action: &str, code: &str, seconds: f64) {
        let labels = [("action", action.to_owned()), ("code", code.to_owned())];
        self.0.ec2_requests.get_or_create(&labels).inc();
        self.0
            .ec2_durations
            .get_or_create(&[("action", action.to_owned())])
            .observe(seconds);
    }

    /// A review was answered.
    pub fn admission(&self, webhook: &str, allowed: bool, seconds: f64) {
        let labels = [
            ("webhook", webhook.to_owned()),
            ("allowed", allowed.to_string()),
        ];
        self.0.admissions.get_or_create(&labels).observe(seconds);
    }

    /// Deciding on a review panicked.
    pub fn webhook_panicked(&self) {
        self.0.webhook_panics.inc();
    }

    /// The reasons that steps of the controller can fail for: each is shown before it first happens.
    pub fn reconcile_errors_of(&self, reasons: impl Iterator<Item = &'static str>) {
        for reason in reasons {
            let labels = [("reason", reason.to_owned())];
            drop(self.0.reconcile_errors.get_or_create(&labels));
        }
    }

    /// A step of the controller failed.
    pub fn reconcile_error(&self, reason: &str) {
        self.0
            .reconcile_errors
            .get_or_create(&[("reason", reason.to_owned())])
            .inc();
    }

    /// An Event was not posted: too many waited.
    pub fn event_dropped(&self) {
        self.0.events_dropped.inc();
    }

    /// A Describe shows less than it should by now.
    pub fn describe_lag_exceeded(&self) {
        self.0.describe_lag_exceeded.inc();
    }

    /// Whether this process holds the lease.
    pub fn leader(&self, leading: bool) {
        self.0.leader.set(i64::from(leading));
    }

    /// When the webhook's certificate ends, in seconds since 1970.
    pub fn certificate_expiry(&self, unix: i64) {
        // Exact for the next 285 million years.
        #[allow(clippy::cast_precision_loss)]
        self.0.certificate_expiry.set(unix as f64);
    }

    /// How many calls of this action may be made at once.
    pub fn ec2_tokens(&self, action: &'static str, tokens: u64) {
        self.0
            .ec2_tokens
            .get_or_create(&[("action", action.to_owned())])
            .set(i64::try_from(tokens).unwrap_or(i64::MAX));
    }

    /// Whether a block's brake is engaged.
    pub fn brake(&self, block: &str, engaged: bool) {
        self.0
            .brakes
            .get_or_create(&[("block", block.to_owned())])
            .set(i64::from(engaged));
    }

    /// All of it, as [`CONTENT_TYPE`].
    ///
    /// # Errors
    /// A metric that cannot be written as text.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.0.registry)?;
        Ok(out)
    }
}

/// The version.
fn build(registry: &mut Registry) {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    registry.register(
        "build",
        "What is running",
        Info::new([("version", version)]),
    );
}

/// Calls of EC2 by action and answer, and how many may be made.
fn ec2_calls(registry: &mut Registry) -> (Family<Labels<2>, Counter>, Family<Labels<1>, Gauge>) {
    let requests = family(
        registry,
        "ec2_requests",
        "Calls of EC2, by what it answered",
    );
    let tokens = family(
        registry,
        "ec2_tokens",
        "Calls of an action that the leader may make at once; more come with time",
    );
    (requests, tokens)
}

/// The parts of failovers.
fn failovers(registry: &mut Registry) -> Histograms<1> {
    let failovers = Histograms::new_with_constructor(Seconds(&WAIT_SECONDS));
    registry.register(
        "failover_seconds",
        "Parts of a failover that fast failover began: detection, eviction, scheduling, claim, ec2, record, \
         programming (with spec.node), and total",
        failovers.clone(),
    );
    failovers
}

/// One counter, from the start.
fn counter(registry: &mut Registry, name: &str, help: &str) -> Counter {
    let counter = Counter::default();
    registry.register(name, help, counter.clone());
    counter
}

/// Metrics of one kind that are told apart by labels.
fn family<const N: usize, M>(
    registry: &mut Registry,
    name: &str,
    help: &str,
) -> Family<Labels<N>, M>
where
    M: Default,
    Family<Labels<N>, M>: Metric,
{
    let family = Family::default();
    registry.register(name, help, Family::clone(&family));
    family
}

#[cfg(test)]
mod tests {
    use super::Metrics;

    #[test]
    fn every_promised_name_is_written() {
        let metrics = Metrics::new();
        metrics.addresses("public", "attached", 3);
        metrics.probed_addresses("public", "not_verified", 1);
        metrics.inventory("subnet-1", 1_800_000_000);
        metrics.reconcile_errors_of(["Conflict", "Throttled"].into_iter());
        metrics.moved_in(1.5);
        metrics.attached_in(0.2);
        metrics.failover("detection", 0.4);
        metrics.ec2_request("AssignPrivateIpAddresses", "OK", 0.1);
        metrics.ec2_tokens("AssignPrivateIpAddresses", 100);
        metrics.admission("mutate-pod", true, 0.002);
        metrics.reconcile_error("Conflict");
        metrics.event_dropped();
        metrics.leader(true);
        metrics.certificate_expiry(1_800_000_000);
        metrics.brake("public", false);
        let text = metrics.encode().unwrap();
        for line in [
            "mooring_addresses{block=\"public\",state=\"attached\"} 3",
            "mooring_probed_addresses{block=\"public\",state=\"not_verified\"} 1",
            "mooring_inventory_timestamp_seconds{subnet=\"subnet-1\"} 1800000000",
            "mooring_reconcile_errors_total{reason=\"Throttled\"} 0",
            "mooring_move_duration_seconds_count 1",
            "mooring_attach_duration_seconds_count 1",
            "mooring_failover_seconds_count{part=\"detection\"} 1",
            "mooring_ec2_requests_total{action=\"AssignPrivateIpAddresses\",code=\"OK\"} 1",
            "mooring_ec2_tokens{action=\"AssignPrivateIpAddresses\"} 100",
            "mooring_ec2_request_duration_seconds_count{action=\"AssignPrivateIpAddresses\"} 1",
            "mooring_admission_duration_seconds_count{webhook=\"mutate-pod\",allowed=\"true\"} 1",
            "mooring_webhook_panics_total 0",
            "mooring_webhook_certificate_expiry_timestamp_seconds 1800000000",
            "mooring_reconcile_errors_total{reason=\"Conflict\"} 1",
            "mooring_events_dropped_total 1",
            "mooring_describe_lag_exceeded_total 0",
            "mooring_leader 1",
            "mooring_brake_engaged{block=\"public\"} 0",
            "mooring_build_info{version=",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn a_block_or_subnet_that_is_gone_is_no_longer_shown() {
        let metrics = Metrics::new();
        metrics.addresses("public", "attached", 3);
        metrics.brake("public", true);
        metrics.inventory("public", 1_800_000_000);
        metrics.probed_addresses("public", "verified", 3);
        metrics.forget_block("public", &["attached"]);
        metrics.forget_probed("public", "verified");
        metrics.forget_inventory("public");
        assert!(!metrics.encode().unwrap().contains("public"));
    }
}
