//! The inventories: one at a time for each subnet that a block names, when it is due.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;
use mooring_plan::classify::Action;
use mooring_plan::cloud::Interface;
use mooring_plan::facts::{Contradiction, Fact, Facts};
use mooring_plan::names::{InterfaceId, Millis, SubnetId};

use super::{Actor, Flight, Landed};
use crate::cloud::Cloud;
use crate::metrics::Metrics;

/// The inventories under way, and those that wait for a token.
#[derive(Debug, Default)]
pub(super) struct Inventories {
    running: BTreeSet<SubnetId>,
    no_token: BTreeMap<SubnetId, Millis>,
    /// Subnets whose last inventory is shown.
    shown: BTreeSet<SubnetId>,
}

impl Inventories {
    pub(super) fn landed(&mut self, subnet: &SubnetId) {
        self.running.remove(subnet);
    }

    /// Those that are wanted, and no others.
    fn show(&mut self, wanted: &BTreeSet<SubnetId>, metrics: &Metrics) {
        for subnet in self.shown.difference(wanted) {
            metrics.forget_inventory(subnet.as_str());
        }
        for subnet in wanted.difference(&self.shown) {
            metrics.inventory(subnet.as_str(), 0);
        }
        self.shown.clone_from(wanted);
    }

    pub(super) fn forget_gauges(&mut self, metrics: &Metrics) {
        self.show(&BTreeSet::new(), metrics);
    }

    /// A complete one was begun so long ago.
    pub(super) fn show_done(&self, subnet: &SubnetId, ago: Millis, metrics: &Metrics) {
        if self.shown.contains(subnet) {
            let ago = i64::try_from(ago.0 / 1000).unwrap_or_default();
            metrics.inventory(subnet.as_str(), Timestamp::now().as_second() - ago);
        }
    }

    /// When the next one is due.
    pub(super) fn next(&self, facts: &Facts) -> Option<Millis> {
        let idle = facts
            .subnets_wanted()
            .into_iter()
            .filter(|subnet| !self.running.contains(subnet));
        idle.map(|subnet| self.due(&subnet, facts)).min()
    }

    fn due(&self, subnet: &SubnetId, facts: &Facts) -> Millis {
        let due = facts.inventory_due(subnet);
        self.no_token
            .get(subnet)
            .map_or(due, |token| due.max(*token))
    }
}

impl<C: Cloud> Actor<C> {
    /// Counts and logs what an inventory says against EC2's own answers.
    pub(super) fn compare(&self, subnet: &SubnetId, list: &[Interface], begun: Millis) {
        for contradiction in self.facts.contradictions(subnet, list, begun) {
            let Contradiction {
                address,
                answered,
                shown,
            } = contradiction;
            self.effects.metrics.describe_lag_exceeded();
            let (answered, shown) = (said(answered.as_ref()), said(shown.as_ref()));
            tracing::warn!(
                %subnet, %address, answered, shown,
                "DescribeNetworkInterfaces lags for more than 10 s, or somebody else moved the address"
            );
        }
    }

    pub(super) fn launch_inventories(&mut self, now: Millis) {
        let wanted = self.facts.subnets_wanted();
        let no_token = &mut self.inventories.no_token;
        no_token.retain(|subnet, _| wanted.contains(subnet));
        self.inventories.show(&wanted, &self.effects.metrics);
        for subnet in wanted {
            if self.inventories.running.contains(&subnet)
                || now < self.inventories.due(&subnet, &self.facts)
            {
                continue;
            }
            if let Err(token) = self.buckets.take(Action::DescribeInterfaces, now) {
                self.inventories.no_token.insert(subnet, token);
                continue;
            }
            self.inventories.no_token.remove(&subnet);
            self.inventories.running.insert(subnet.clone());
            self.hear(Fact::InventoryBegun(subnet.clone()), Some(now));
            let effects = self.effects.clone();
            self.flights.spawn(async move {
                let answer = effects.inventory(subnet.clone()).await;
                Landed {
                    what: Flight::Inventory(subnet),
                    begun: now,
                    answer,
                }
            });
        }
    }
}

/// An interface, for the log.
fn said(interface: Option<&InterfaceId>) -> &str {
    interface.map_or("no interface", InterfaceId::as_str)
}
