//! Converts the reports of the engine to metrics and log lines.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use mooring_plan::engine::Report;
use mooring_plan::facts::Contradiction;
use mooring_plan::names::{BlockName, InterfaceId, SubnetId};

use crate::metrics::Metrics;

/// The gauges that exist, so that those of deleted objects can be removed.
pub(super) struct Reports {
    metrics: Metrics,
    addresses: BTreeSet<(BlockName, &'static str)>,
    probed: BTreeSet<(BlockName, &'static str)>,
    subnets: BTreeSet<SubnetId>,
}

impl Reports {
    pub(super) const fn new(metrics: Metrics) -> Self {
        Self {
            metrics,
            addresses: BTreeSet::new(),
            probed: BTreeSet::new(),
            subnets: BTreeSet::new(),
        }
    }

    /// Updates metrics and the log for a report.
    pub(super) fn show(&mut self, report: Report) {
        match report {
            Report::Synced => tracing::info!("every kind has been listed"),
            Report::Leading(leading) => self.leading(leading),
            Report::Attached(took) => self.metrics.attached_in(took.as_secs_f64()),
            Report::Moved(took) => self.metrics.moved_in(took.as_secs_f64()),
            Report::Failover(part, took) => {
                self.metrics.failover(part.as_str(), took.as_secs_f64());
            }
            Report::Contradicted(subnet, contradiction) => {
                self.contradicted(&subnet, &contradiction);
            }
            Report::Addresses(counts) => {
                for ((block, state), count) in &counts {
                    self.metrics.addresses(block.as_str(), state, *count);
                }
                self.show_addresses(counts.into_keys().collect());
            }
            Report::Probed(counts) => {
                for ((block, state), count) in &counts {
                    self.metrics.probed_addresses(block.as_str(), state, *count);
                }
                self.show_probed(counts.into_keys().collect());
            }
            Report::Brake(block, engaged) => self.metrics.brake(block.as_str(), engaged),
            Report::Subnets(subnets) => self.show_subnets(subnets.into_iter().collect()),
            Report::Inventory(subnet, ago) => self.inventory(&subnet, ago),
            Report::Tokens(action, count) => self.metrics.ec2_tokens(action.name(), count),
        }
    }

    fn leading(&mut self, leading: bool) {
        self.metrics.leader(leading);
        if leading {
            tracing::info!("leading");
        } else {
            tracing::info!("no longer leading");
            self.show_addresses(BTreeSet::new());
            self.show_probed(BTreeSet::new());
            self.show_subnets(BTreeSet::new());
        }
    }

    fn show_addresses(&mut self, now: BTreeSet<(BlockName, &'static str)>) {
        for (block, state) in self.addresses.difference(&now) {
            self.metrics.forget_block(block.as_str(), &[state]);
        }
        self.addresses = now;
    }

    fn show_probed(&mut self, now: BTreeSet<(BlockName, &'static str)>) {
        for (block, state) in self.probed.difference(&now) {
            self.metrics.forget_probed(block.as_str(), state);
        }
        self.probed = now;
    }

    fn show_subnets(&mut self, now: BTreeSet<SubnetId>) {
        for subnet in self.subnets.difference(&now) {
            self.metrics.forget_inventory(subnet.as_str());
        }
        for subnet in now.difference(&self.subnets) {
            self.metrics.inventory(subnet.as_str(), 0);
        }
        self.subnets = now;
    }

    fn inventory(&self, subnet: &SubnetId, ago: Duration) {
        if self.subnets.contains(subnet) {
            let ago = i64::try_from(ago.as_secs()).unwrap_or_default();
            self.metrics
                .inventory(subnet.as_str(), Timestamp::now().as_second() - ago);
        }
    }

    fn contradicted(&self, subnet: &SubnetId, contradiction: &Contradiction) {
        let Contradiction {
            address,
            answered,
            shown,
        } = contradiction;
        self.metrics.describe_lag_exceeded();
        let (answered, shown) = (in_words(answered.as_ref()), in_words(shown.as_ref()));
        tracing::warn!(
            %subnet, %address, answered, shown,
            "DescribeNetworkInterfaces lags for more than 10 s, or something else moved the address"
        );
    }
}

fn in_words(interface: Option<&InterfaceId>) -> &str {
    interface.map_or("no interface", InterfaceId::as_str)
}
