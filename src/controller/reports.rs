//! Converts the reports of the engine to metrics and log lines.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use mooring_plan::ec2::DESCRIBE_LAG;
use mooring_plan::engine::Report;
use mooring_plan::facts::Contradiction;
use mooring_plan::names::{BlockName, InterfaceId, SubnetId};
use mooring_plan::outcome::Action;

use crate::metrics::Metrics;

/// The gauges that exist, so that those of deleted objects can be removed.
pub(super) struct Reports {
    metrics: Metrics,
    addresses: BTreeSet<(BlockName, &'static str)>,
    probed: BTreeSet<(BlockName, &'static str)>,
    subnets: BTreeSet<SubnetId>,
    tokens: BTreeSet<Action>,
}

impl Reports {
    pub(super) const fn new(metrics: Metrics) -> Self {
        Self {
            metrics,
            addresses: BTreeSet::new(),
            probed: BTreeSet::new(),
            subnets: BTreeSet::new(),
            tokens: BTreeSet::new(),
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
            Report::NodePartsAway(count) => self.metrics.node_parts_away(count),
            Report::Brake(block, engaged) => self.metrics.brake(block.as_str(), engaged),
            Report::Subnets(subnets) => self.show_subnets(subnets.into_iter().collect()),
            Report::Inventory(subnet, ago) => self.inventory(&subnet, ago),
            Report::Tokens(action, count) => {
                self.metrics.ec2_tokens(action.name(), count);
                self.tokens.insert(action);
            }
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
            self.metrics.node_parts_away(0);
            self.forget_tokens();
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

    /// Another process makes the calls, so the buckets of this one fill up and say nothing.
    fn forget_tokens(&mut self) {
        for action in std::mem::take(&mut self.tokens) {
            self.metrics.forget_ec2_tokens(action.name());
        }
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
            "DescribeNetworkInterfaces lags for more than {} s, or something else moved the address",
            DESCRIBE_LAG.as_secs()
        );
    }
}

fn in_words(interface: Option<&InterfaceId>) -> &str {
    interface.map_or("no interface", InterfaceId::as_str)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mooring_plan::engine::Report;
    use mooring_plan::names::{BlockName, SubnetId};
    use mooring_plan::outcome::Action;

    use super::Reports;
    use crate::metrics::Metrics;

    #[test]
    fn a_process_that_no_longer_leads_shows_no_gauge_of_the_leader() {
        let metrics = Metrics::new();
        let mut reports = Reports::new(metrics.clone());
        let (block, subnet) = (BlockName::from("office"), SubnetId::new("subnet-1"));
        let labels = [
            "block=\"office\"",
            "subnet=\"subnet-1\"",
            "action=\"AssignPrivateIpAddresses\"",
            "action=\"DescribeSubnets\"",
        ];
        // It leads twice: what it shows the second time is removed too.
        for _ in 0..2 {
            reports.show(Report::Leading(true));
            reports.show(Report::Addresses(
                [((block.clone(), "free"), 3)].into_iter().collect(),
            ));
            reports.show(Report::Subnets([subnet.clone()].into_iter().collect()));
            reports.show(Report::Inventory(subnet.clone(), Duration::ZERO));
            reports.show(Report::NodePartsAway(2));
            reports.show(Report::Tokens(Action::Assign, 7));
            reports.show(Report::Tokens(Action::DescribeSubnets, 9));
            let text = metrics.encode().unwrap();
            for label in labels {
                assert!(text.contains(label), "{label} is not in\n{text}");
            }
            reports.show(Report::Leading(false));
            let text = metrics.encode().unwrap();
            for label in labels {
                assert!(!text.contains(label), "{label} is in\n{text}");
            }
            assert!(text.contains("mooring_node_parts_away 0"), "{text}");
        }
    }
}
