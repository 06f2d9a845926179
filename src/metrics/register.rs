//! Registers the metrics.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};

pub(super) type Labels<const N: usize> = [(&'static str, String); N];

/// Buckets from one millisecond to half a minute, for admission answers and calls of EC2.
pub(super) const CALL_SECONDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// Buckets from a tenth of a second to half an hour, for the time that a pod waits for its address.
pub(super) const WAIT_SECONDS: [f64; 12] = [
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 1800.0,
];

#[derive(Clone)]
pub(super) struct Seconds(pub(super) &'static [f64]);

impl MetricConstructor<Histogram> for Seconds {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

pub(super) type Histograms<const N: usize> = Family<Labels<N>, Histogram, Seconds>;

/// The version.
pub(super) fn build(registry: &mut Registry) {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    registry.register(
        "build",
        "Version of this process",
        Info::new([("version", version)]),
    );
}

/// Calls of EC2 by action and answer, and the tokens that are left.
pub(super) fn ec2_calls(
    registry: &mut Registry,
) -> (Family<Labels<2>, Counter>, Family<Labels<1>, Gauge>) {
    let requests = family(
        registry,
        "ec2_requests",
        "Calls of EC2, by action and code of the answer",
    );
    let tokens = family(
        registry,
        "ec2_tokens",
        "Tokens in the bucket of an action: the calls that the leader can make immediately",
    );
    (requests, tokens)
}

/// Time until an address is attached.
pub(super) fn changes_of_place(registry: &mut Registry, moves: &Histogram, attaches: &Histogram) {
    registry.register(
        "move_duration_seconds",
        "Time from the claim for another pod or place to the record, of an attached address",
        moves.clone(),
    );
    registry.register(
        "attach_duration_seconds",
        "Time from the claim to the record, if the address did not move",
        attaches.clone(),
    );
}

/// The parts of failovers.
pub(super) fn failovers(registry: &mut Registry) -> Histograms<1> {
    let failovers = Histograms::new_with_constructor(Seconds(&WAIT_SECONDS));
    registry.register(
        "failover_seconds",
        "Parts of a failover that fast failover began: detection, eviction, scheduling, claim, ec2, record, \
         programming (with spec.node), and total",
        failovers.clone(),
    );
    failovers
}

/// Reviews without a verdict, by code of the answer. Those that the API server can receive exist from the start.
pub(super) fn rejected(registry: &mut Registry) -> Family<Labels<1>, Counter> {
    let rejected = family(
        registry,
        "webhook_rejected",
        "Reviews without a verdict, by HTTP code of the answer: 429 (too many at a time), 413 (too large), 504 (too \
         slow) or 400 (broken off)",
    );
    for code in ["413", "429", "504"] {
        drop(rejected.get_or_create(&[("code", code.to_owned())]));
    }
    rejected
}

/// A counter without labels, which exists from the start.
pub(super) fn counter(registry: &mut Registry, name: &str, help: &str) -> Counter {
    let counter = Counter::default();
    registry.register(name, help, counter.clone());
    counter
}

/// A gauge without labels.
pub(super) fn gauge(registry: &mut Registry, name: &str, help: &str) -> Gauge {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
}

/// A family of metrics with labels.
pub(super) fn family<const N: usize, M>(
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
