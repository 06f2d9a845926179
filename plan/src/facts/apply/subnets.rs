//! Applies the answers of EC2 about subnets: the subnet itself, and inventories of its ENIs.

use alloc::vec::Vec;

use core::time::Duration;

use super::super::location::OfInterest;
use super::super::subnet::SECOND_INVENTORY_DELAY;
use super::super::{Affected, Facts, Inventory};
use super::changed;
use crate::cloud::{Interface, Subnet};
use crate::ec2::LATE_CALL;
use crate::names::{IpName, SubnetId};
use crate::objects::Ip;
use crate::outcome::Outcome;
use crate::time::Instant;

impl Facts {
    pub(super) fn see_subnet(&mut self, id: &SubnetId, seen: Subnet, now: Instant) -> Affected {
        let unknown = seen.cidrs.is_empty();
        let subnet = self.subnets.entry(id.clone()).or_default();
        let same = subnet.cidrs == seen.cidrs && subnet.cni == seen.cni;
        let unserved = subnet.unserved();
        subnet.cidrs = seen.cidrs;
        subnet.cni = seen.cni;
        if unknown {
            subnet.read_failed(id, Outcome::Invalid, now);
        } else {
            subnet.confirm_existence(now);
        }
        changed(!same || subnet.unserved() != unserved)
    }

    /// Removes the facts of subnets that no block names any more.
    pub(super) fn forget_subnets(&mut self) {
        let wanted = self.subnets_wanted();
        self.subnets.retain(|id, _| wanted.contains(id));
    }

    pub(super) fn take_inventory(
        &mut self,
        id: &SubnetId,
        list: Vec<Interface>,
        begun: Instant,
        now: Instant,
    ) -> Affected {
        let subnet = self.subnets.entry(id.clone()).or_default();
        if subnet.proves_nothing(&list) {
            return self.inventory_failed(id, Outcome::SubnetNotFound, now);
        }
        let not_agreed = self.not_agreed(id, now);
        let of_interest = OfInterest::to(self.ips.values());
        let inventory = Inventory::new(begun, list);
        let subnet = self.subnets.entry(id.clone()).or_default();
        subnet.done(inventory, &of_interest);
        self.confirm_drift(id, begun);
        self.forget_ended_pods();
        self.forget_what_is_old(now);
        self.forget_replica_sets(now);
        self.note_ownerless(now);
        Affected::Several(self.affected_by_inventory(id, &not_agreed))
    }

    /// This process has just begun to lead, and an address is not where its claim is recorded: requests inventories
    /// until two began so late that they distinguish a drift from a late Describe.
    fn confirm_drift(&mut self, id: &SubnetId, begun: Instant) {
        let provable = self.provable_after();
        let Some(subnet) = self.subnets.get(id) else {
            return;
        };
        let before = subnet.inventory_before();
        if before.is_some_and(|before| before.begun > provable) {
            return;
        }
        let displaced = |ip: &Ip| {
            let Some((claim, address)) = ip.status.claim.as_ref().zip(ip.status.address) else {
                return false;
            };
            let place = claim.target().map(|target| &target.place);
            let place = place.map(|place| (&place.interface, Some(&place.instance)));
            claim.recorded()
                && !subnet.own.contains_key(&address)
                && subnet.shown(address) != place
                && self.subnet_of(&ip.name).as_ref() == Some(id)
        };
        let any = self.ips.values().any(displaced);
        if let Some(subnet) = self.subnets.get_mut(id).filter(|_| any) {
            let after = provable.plus(Duration::from_millis(1));
            subnet.want(after.max(begun.plus(SECOND_INVENTORY_DELAY)));
        }
    }

    /// An inventory failed. IPs that wait for one are affected if their report changes.
    pub(super) fn inventory_failed(
        &mut self,
        id: &SubnetId,
        outcome: Outcome,
        now: Instant,
    ) -> Affected {
        let subnet = self.subnets.entry(id.clone()).or_default();
        let before = subnet.unserved();
        subnet.tried = Some(now);
        subnet.inventory_failed(id, outcome, now);
        if subnet.unserved() == before {
            Affected::Nothing
        } else {
            self.affected_by_subnet(id)
        }
    }

    /// The deletion of an IP whose claim ended early waits for inventories that begin when no late Assign is possible
    /// any more. They are taken as soon as possible, independent of the interval.
    pub(in crate::facts) fn request_proof(&mut self, name: &IpName) {
        let Some(memory) = self.memory.get(name) else {
            return;
        };
        let ends = memory.ended_early
            && self.ips.get(name).is_some_and(|ip| {
                ip.deleting && ip.status.claim.is_none() && !ip.status.previous.is_empty()
            });
        let after = memory.claim_seen.plus(LATE_CALL);
        if let Some(subnet) = self.subnet_of(name).filter(|_| ends) {
            let subnet = self.subnets.entry(subnet).or_default();
            subnet.request_proof(after);
        }
    }

    /// The subnet of the address of an IP.
    pub(crate) fn subnet_of(&self, name: &IpName) -> Option<SubnetId> {
        Some(self.spec_of(self.ips.get(name)?)?.subnet.clone())
    }
}
