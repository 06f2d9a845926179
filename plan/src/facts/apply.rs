//! Applies facts: passes each one to the submodule for its kind. Facts about blocks are applied here.

mod answers;
mod ips;
mod limits;
mod nodes;
mod ownerless;
mod pods;
mod reads;
mod replica_sets;
mod reservations;
mod subnets;

use alloc::collections::BTreeSet;

use crate::facts::{Affected, CallError, Fact, Facts, Kind};
use crate::names::{BlockName, IpName, IpUid, ResourceVersion};
use crate::objects::Block;
use crate::step::Call;
use crate::time::Instant;

impl Facts {
    /// Applies a fact. `begun` is when the request that it answers was begun (for a watch event: `now`).
    pub fn apply(&mut self, fact: Fact, begun: Instant, now: Instant) -> Affected {
        let Some(fact) = self.newer_than_lead(fact, begun) else {
            return Affected::Nothing;
        };
        match fact {
            Fact::Ip(ip) => self.see_ip(ip, now),
            Fact::IpUnreadable(ip) => self.see_unreadable(ip, now),
            Fact::IpGone(name, uid) => {
                self.unreadable.retain(|_, ip| ip.uid != uid);
                match self.ips.get(&name) {
                    // The event of a lagging watch is about an earlier IP. If this IP were removed here, no event would
                    // add it.
                    Some(known) if known.uid != uid => Affected::Nothing,
                    _ => self.lose_ip(&name, now),
                }
            }
            Fact::Block(block) => self.see_block(&block),
            Fact::BlockGone(name) => self.lose_block(&name),
            Fact::Pod(pod) => self.see_pod(pod, now),
            Fact::PodDeleted(uid) => {
                self.see_end_of(&uid);
                self.lose_pod(&uid)
            }
            Fact::PodVanished(uid) => self.lose_pod(&uid),
            Fact::Node(node) => self.see_node(node, now),
            Fact::NodeGone(name, uid) => self.lose_node_of(&name, &uid, now),
            Fact::NodeAsked(name, failed) => {
                self.node_asked(&name, failed, begun, now);
                Affected::Nothing
            }
            Fact::NodeWrote(name, outcome) => {
                self.node_wrote(&name, &outcome, now);
                Affected::Nothing
            }
            Fact::BlockWrote(name, step, outcome) => {
                self.block_wrote(&name, &step, &outcome, now);
                self.released(&step, &outcome)
            }
            Fact::NodeReport(report) => self.see_node_report(report, now),
            Fact::NodeReportGone(name) => self.lose_node_report(&name, now),
            Fact::Reservation(reservation) => self.see_reservation(reservation, now),
            Fact::ReservationGone(address, uid) => self.lose_reservation_of(address, &uid),
            Fact::Synced(kind) => changed(self.synced.insert(kind)),
            Fact::Restored(kind) => {
                self.rolled_back = Some(BTreeSet::new());
                self.reset_versions(kind);
                Affected::All
            }
            Fact::LimitsRead(limits) => {
                let before = self.limits.clone();
                self.limits_unanswered
                    .retain(|kind, _| !limits.contains_key(kind));
                self.limits.extend(limits);
                changed(before != self.limits)
            }
            Fact::LimitsFailed(types, outcome) => self.limits_failed(types, outcome, now),
            // The last block of this subnet is gone: the answer is ignored.
            Fact::SubnetRead(id, _)
            | Fact::SubnetFailed(id, _)
            | Fact::InventoryBegun(id)
            | Fact::InventoryDone(id, _)
            | Fact::InventoryFailed(id, _)
                if !self.subnets_wanted().contains(&id) =>
            {
                Affected::Nothing
            }
            Fact::SubnetRead(id, subnet) => self.see_subnet(&id, subnet, now),
            Fact::SubnetFailed(id, outcome) => {
                let subnet = self.subnets.entry(id.clone()).or_default();
                subnet.read_failed(&id, outcome, now);
                Affected::Nothing
            }
            Fact::InventoryBegun(id) => {
                self.subnets.entry(id).or_default().inventory_begun(now);
                Affected::Nothing
            }
            Fact::InventoryDone(id, list) => self.take_inventory(&id, list, begun, now),
            Fact::InventoryFailed(id, outcome) => self.inventory_failed(&id, outcome, now),
            Fact::ReserveBegun(name, address) => {
                let freed = self.reserve_ended(&name);
                self.reservations.begin(name, address);
                freed
            }
            Fact::ClaimBegun(name, interface, address) => {
                self.move_begun(&name, &interface, now);
                self.claim_begun(name, interface, address)
            }
            Fact::Wrote {
                ip: name,
                write,
                outcome,
            } => self.wrote(&name, write, outcome, begun, now),
            Fact::CallBegun(name, call) => {
                self.call_begun(name, &call, now);
                Affected::Nothing
            }
            Fact::Called { ip, call, result } => self.call_ended(ip, call, result, now),
            answer => self.read(answer, begun, now),
        }
    }

    fn call_ended(
        &mut self,
        name: IpName,
        call: Call,
        result: Result<(), CallError>,
        now: Instant,
    ) -> Affected {
        let over = self.outage_ends(call.action(), &result, now);
        let permitted = self.follow_denial(&name, call.action(), &result, now);
        let affected = self.called(name, call, result, now).and(permitted);
        if over { Affected::All } else { affected }
    }

    /// True if an IP of this name and UID exists, as far as is known.
    pub(super) fn knows_uid(&self, name: &IpName, uid: &IpUid) -> bool {
        self.ips.get(name).is_some_and(|ip| &ip.uid == uid)
            || self.unreadable.get(name).is_some_and(|ip| &ip.uid == uid)
    }

    fn see_block(&mut self, block: &Block) -> Affected {
        if let Some(looked_at) = self.rolled_back.as_mut().filter(|_| block.release_brake) {
            looked_at.insert(block.name.clone());
        }
        let before = self.blocks.insert(block.name.clone(), block.clone());
        self.affected_by_block(before.as_ref(), Some(block))
    }

    fn lose_block(&mut self, name: &BlockName) -> Affected {
        let before = self.blocks.remove(name);
        self.block_failures.remove(name);
        if let Some(looked_at) = &mut self.rolled_back {
            looked_at.remove(name);
        }
        self.forget_subnets();
        self.affected_by_block(before.as_ref(), None)
    }

    /// After a restore from a backup, the API server continues at a lower version. So every object that it shows from
    /// now on replaces the known one, also with a lower version.
    fn reset_versions(&mut self, kind: Kind) {
        const OLDEST: ResourceVersion = ResourceVersion(0);
        match kind {
            Kind::Ip => {
                self.ips.values_mut().for_each(|ip| ip.version = OLDEST);
                let unreadable = self.unreadable.values_mut();
                unreadable.for_each(|ip| ip.version = OLDEST);
            }
            Kind::Pod => {
                let pods = self.pods.values_mut();
                pods.for_each(|seen| seen.pod.version = OLDEST);
            }
            Kind::Reservation => {
                let reservations = self.reservations.all_mut();
                reservations.for_each(|reservation| reservation.version = OLDEST);
            }
            Kind::Node => {
                let nodes = self.nodes.values_mut();
                nodes.for_each(|seen| seen.node.version = OLDEST);
                // A Node that was gone can come back with its UID.
                self.lost_nodes.clear();
            }
            // For these kinds, versions are not compared: they come from a watch alone.
            Kind::Block | Kind::NodeReport => {}
        }
    }
}

fn changed(changed: bool) -> Affected {
    if changed {
        Affected::All
    } else {
        Affected::Nothing
    }
}
