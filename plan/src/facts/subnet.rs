//! The facts about the ENIs of a subnet: the last two inventories, and the own writes since.
//! Rules: R1.9, R1.13 to R1.17.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use super::failed_read::FailedRead;
use super::inventory::Inventory;
use super::location::{Location, OfInterest, OwnWrite};
use super::sets::Sets;
use crate::address::{Address, Cidr};
use crate::cloud::{CniUse, Interface};
use crate::ec2::DESCRIBE_LAG;
use crate::names::{InstanceId, InterfaceId, SubnetId};
use crate::outcome::Outcome;
use crate::time::Instant;

/// Time until the second inventory. One inventory that shows an address nowhere proves nothing, because Describe is
/// eventually consistent (R1.15, R1.16).
pub(crate) const SECOND_INVENTORY_DELAY: Duration = Duration::from_secs(2);

/// Maximum number of requested inventories: for proofs one in each of the next ten seconds, and some others.
const MOST_WANTED: usize = 16;

/// Minimum time for which an inventory is fresh, also with a short interval (R1.9).
const LEAST_FRESH: Duration = Duration::from_secs(10);

/// The facts about one subnet.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubnetFacts {
    /// The CIDRs of the subnet; empty until `DescribeSubnets` has answered.
    pub cidrs: Vec<Cidr>,
    /// Whether the VPC CNI uses its ENIs.
    pub cni: CniUse,
    /// True if `DescribeSubnets` has shown the subnet since an inventory last showed an ENI.
    pub(super) confirmed: bool,
    /// The failed `DescribeSubnets`, while an answer is needed.
    pub(crate) unread: Option<FailedRead>,
    pub(crate) last: Option<Inventory>,
    pub(crate) before: Option<Inventory>,
    /// When inventories are wanted before the regular interval. An inventory in flight serves only what was wanted when
    /// it began.
    pub(crate) wanted: BTreeSet<Instant>,
    /// Two inventories that begin after this time are wanted as soon as possible.
    pub(crate) proof: Option<Instant>,
    /// When the last attempt was begun, or has failed.
    pub(crate) tried: Option<Instant>,
    /// The failed inventory. Its backoff applies even if the interval is shorter.
    pub(crate) failed: Option<FailedRead>,
    pub(crate) own: BTreeMap<Address, OwnWrite>,
    /// The addresses that own writes put on each ENI.
    own_on: Sets<InterfaceId, Address>,
    /// Addresses with a call of unknown outcome, and since when.
    pub(crate) unknown: BTreeMap<Address, Instant>,
    /// Addresses that an IP explained until this time. An inventory that began earlier does not prove an orphan.
    pub(crate) explained: BTreeMap<Address, Instant>,
}

impl SubnetFacts {
    /// The last complete inventory.
    #[must_use]
    pub fn inventory(&self) -> Option<&Inventory> {
        self.last.as_ref()
    }

    /// True if the last `DescribeSubnets` or the last inventory failed.
    pub(crate) const fn last_read_failed(&self) -> bool {
        self.unread.is_some() || self.failed.is_some()
    }

    /// The complete inventory before the last one.
    pub(crate) const fn inventory_before(&self) -> Option<&Inventory> {
        self.before.as_ref()
    }

    /// The subnet and its last inventory, if EC2 has answered both requests.
    pub(crate) fn looked_at(&self) -> Option<(&Self, &Inventory)> {
        let inventory = self.inventory().filter(|_| !self.cidrs.is_empty());
        inventory.map(|inventory| (self, inventory))
    }

    /// Notes an own write that EC2 answered.
    pub(crate) fn wrote(&mut self, address: Address, own: OwnWrite) {
        if let Some(on) = own.now_on.clone() {
            self.own_on.insert(on, address);
        }
        let now_on = own.now_on.clone();
        let before = self.own.insert(address, own);
        if let Some(on) = before.and_then(|before| before.now_on)
            && Some(&on) != now_on.as_ref()
        {
            self.own_on.remove(&on, &address);
        }
    }

    /// Requests an inventory that begins at this time or later.
    pub(crate) fn want(&mut self, at: Instant) {
        self.wanted.insert(at);
        // A later inventory serves an earlier request too.
        if self.wanted.len() > MOST_WANTED {
            self.wanted.pop_first();
        }
    }

    /// Requests two inventories that begin after this time.
    pub(crate) fn request_proof(&mut self, after: Instant) {
        self.proof = self.proof.max(Some(after));
        // Requests of many IPs share inventories.
        let second = after.as_millis() / 1000 + 1;
        self.want(Instant::from_secs(second));
    }

    /// An inventory begins: it serves what is wanted until now.
    pub(crate) fn inventory_begun(&mut self, now: Instant) {
        self.tried = Some(now);
        self.wanted.retain(|wanted| *wanted > now);
    }

    /// When the next inventory is due.
    pub(crate) fn due(&self, interval: Duration) -> Instant {
        let Some(tried) = self.tried else {
            return Instant::START;
        };
        if let Some(failed) = &self.failed {
            return failed.backoff.until;
        }
        let regular = tried.plus(interval);
        let wanted = self.wanted.first();
        wanted.map_or(regular, |wanted| regular.min(*wanted))
    }

    pub(crate) fn inventory_failed(&mut self, id: &SubnetId, outcome: Outcome, now: Instant) {
        self.failed = Some(FailedRead::after(self.failed.as_ref(), id, outcome, now));
        self.forget_unread();
    }

    /// The outcome if EC2 serves no inventory: it denied one, or two in a row failed.
    pub(crate) fn unserved(&self) -> Option<Outcome> {
        let failed = self.failed.as_ref()?;
        let reported = failed.outcome.is_denial() || failed.backoff.repeated();
        reported.then_some(failed.outcome)
    }

    /// `DescribeSubnets` failed. If an inventory has shown the subnet meanwhile, nothing waits for it any more.
    pub(crate) fn read_failed(&mut self, id: &SubnetId, outcome: Outcome, now: Instant) {
        if self.needs_read() {
            self.unread = Some(FailedRead::after(self.unread.as_ref(), id, outcome, now));
        }
    }

    pub(crate) fn done(&mut self, inventory: Inventory, of_interest: &OfInterest<'_>) {
        self.failed = None;
        self.forget_unread();
        self.unknown.retain(|_, since| *since >= inventory.begun);
        self.before = self.last.take();
        self.confirmed &= inventory.interfaces.is_empty();
        let began = inventory.begun;
        self.last = Some(inventory);
        if let Some(before) = &self.before {
            self.explained.retain(|_, until| *until >= before.begun);
        }
        let own_on = &mut self.own_on;
        self.own.retain(|address, own| {
            let Some((last, before)) = self.last.as_ref().zip(self.before.as_ref()) else {
                return true;
            };
            let shown = last.holder_of(*address);
            let contradicted = shown != own.now_on.as_ref();
            let earliest = if contradicted {
                own.answered.plus(DESCRIBE_LAG)
            } else {
                own.answered
            };
            let over = before.begun > earliest && shown == before.holder_of(*address);
            if over && let Some(on) = &own.now_on {
                own_on.remove(on, address);
            }
            !over
        });
        // A second inventory follows soon if an own write is not shown, or an address moved without a write.
        let shown = |address: &Address| {
            let last = self.last.as_ref()?;
            last.holder_of(*address)
        };
        let unseen = self
            .own
            .iter()
            .filter(|(address, own)| own.answered < began && shown(address) != own.now_on.as_ref())
            .map(|(_, own)| own.answered.plus(DESCRIBE_LAG))
            .min();
        let changed = self.last.as_ref().zip(self.before.as_ref());
        let doubtful = changed.is_some_and(|(last, before)| {
            let elsewhere = |on: &InterfaceId| last.instance_of(on) != before.instance_of(on);
            let moved = of_interest.addresses.iter().any(|address| {
                let own = self.own.contains_key(address);
                let was_on = before.holder_of(*address).filter(|_| !own);
                was_on.is_some_and(|on| last.holder_of(*address) != Some(on) || elsewhere(on))
            });
            moved || of_interest.interfaces.iter().copied().any(elsewhere)
        });
        if let Some(accepted) = unseen {
            self.want(
                began
                    .plus(SECOND_INVENTORY_DELAY)
                    .max(accepted.plus(Duration::from_millis(1))),
            );
        }
        if doubtful || self.before.is_none() {
            self.want(began.plus(SECOND_INVENTORY_DELAY));
        }
        let proven = |after| self.before.as_ref().is_some_and(|it| it.begun > after);
        self.proof = self.proof.filter(|after| !proven(*after));
        if let Some(after) = self.proof {
            self.want(
                began
                    .plus(SECOND_INVENTORY_DELAY)
                    .max(after.plus(Duration::from_millis(1))),
            );
        }
    }

    /// True if the last inventory is fresh.
    pub(super) fn has_fresh_inventory(&self, interval: Duration, now: Instant) -> bool {
        let fresh_for = interval.saturating_mul(2).max(LEAST_FRESH);
        let last = self.last.as_ref();
        last.is_some_and(|last| now.since(last.begun) <= fresh_for)
    }

    /// The location of the address.
    #[must_use]
    pub fn locate(&self, address: Address, interval: Duration, now: Instant) -> Location {
        let Some(last) = &self.last else {
            return Location::default();
        };
        let fresh = self.has_fresh_inventory(interval, now) && !self.unknown.contains_key(&address);
        let shown = last.holder_of(address);
        // `done` removes an own write when two later inventories agree. Until then the own write counts here.
        let own = self.own.get(&address);
        let on = own.map_or(shown, |own| own.now_on.as_ref());
        let agreed_since = self.agreed_since(address);
        Location {
            on: on.cloned(),
            instance: on.and_then(|on| last.instance_of(on)).cloned(),
            fresh,
            agreed_since,
        }
    }

    /// When the older of two inventories was begun that show the same for the address, if no own write is newer.
    pub(super) fn agreed_since(&self, address: Address) -> Option<Instant> {
        let (last, before) = self.last.as_ref().zip(self.before.as_ref())?;
        let on = last.holder_of(address);
        let alike = before.holder_of(address) == on
            && on.is_none_or(|on| before.instance_of(on) == last.instance_of(on));
        (alike && !self.own.contains_key(&address)).then_some(before.begun)
    }

    /// The ENI of an address in the last inventory, and its instance.
    pub(super) fn shown(&self, address: Address) -> Option<(&InterfaceId, Option<&InstanceId>)> {
        let last = self.last.as_ref()?;
        let on = last.holder_of(address)?;
        Some((on, last.instance_of(on)))
    }

    /// The ENI of an address in the last inventory, if that began more than `lag` after the last own write of the
    /// address.
    pub(crate) fn shown_since(&self, address: Address, lag: Duration) -> Option<&InterfaceId> {
        let last = self.last.as_ref()?;
        let own = self.own.get(&address);
        let later = own.is_none_or(|own| last.begun > own.answered.plus(lag));
        last.holder_of(address).filter(|_| later)
    }

    /// An ENI in the last inventory.
    #[must_use]
    pub fn interface(&self, id: &InterfaceId) -> Option<&Interface> {
        self.last.as_ref()?.interfaces.get(id)
    }

    /// True if two inventories in sequence do not show the ENI.
    #[must_use]
    pub fn interface_gone(&self, id: &InterfaceId) -> bool {
        self.last
            .as_ref()
            .zip(self.before.as_ref())
            .is_some_and(|(last, before)| {
                !last.interfaces.contains_key(id) && !before.interfaces.contains_key(id)
            })
    }

    /// Number of used slots of an ENI, from the last inventory and the own writes since. A delegated prefix uses one
    /// slot, as an address does.
    pub(crate) fn slots_taken_on(&self, id: &InterfaceId) -> usize {
        let shown = self.interface(id).map_or(0, |interface| {
            let addresses = interface.addresses.iter();
            addresses
                .filter(|address| !self.own.contains_key(*address))
                .count()
                + interface.prefixes.len()
        });
        shown + self.own_on.count(id)
    }
}
