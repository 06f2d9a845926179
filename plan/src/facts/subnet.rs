//! What is known of a subnet's interfaces: the last inventories and the own writes since.
//! Rules: R1.9, R1.13 to R1.17.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use super::inventory::Inventory;
use super::location::{Location, OfInterest, OwnWrite};
use super::sets::Sets;
use crate::address::{Address, Cidr};
use crate::backoff::{self, Backoff};
use crate::cloud::{CniUse, Interface};
use crate::ec2::DESCRIBE_LAG;
use crate::names::{InstanceId, InterfaceId, SubnetId};
use crate::outcome::Outcome;
use crate::time::Instant;

/// An inventory that shows an address nowhere proves nothing (EC2's Describe is eventually
/// consistent); the second look follows after this long (R1.15, R1.16).
const SECOND_LOOK: Duration = Duration::from_secs(2);

/// However short the interval: an inventory is good for at least this long (R1.9).
const LEAST_FRESH: Duration = Duration::from_secs(10);

/// What is known of one subnet.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubnetFacts {
    /// Its CIDRs; empty until `DescribeSubnets` has answered.
    pub cidrs: Vec<Cidr>,
    /// What the VPC CNI does with its interfaces.
    pub cni: CniUse,
    /// `DescribeSubnets` was asked in vain.
    pub(crate) unread: Option<Backoff>,
    /// EC2's word on that.
    pub(crate) unread_for: Option<Outcome>,
    pub(crate) last: Option<Inventory>,
    pub(crate) before: Option<Inventory>,
    /// When an inventory is wanted earlier than the interval has it.
    pub(crate) wanted: Option<Instant>,
    /// Two inventories are wanted that were begun after this moment, as soon as there can be.
    pub(crate) proof: Option<Instant>,
    /// When the last attempt was begun.
    pub(crate) tried: Option<Instant>,
    /// It failed: the interval may be shorter, EC2's patience is not.
    pub(crate) failed: Option<Backoff>,
    /// With EC2's word.
    pub(crate) failed_with: Option<Outcome>,
    pub(crate) own: BTreeMap<Address, OwnWrite>,
    /// The addresses that own writes put on an interface.
    own_on: Sets<InterfaceId, Address>,
    /// Addresses of which a call's outcome is not known, since when.
    pub(crate) unknown: BTreeMap<Address, Instant>,
    /// Addresses that an IP explained until then: no inventory begun before says that none does.
    pub(crate) explained: BTreeMap<Address, Instant>,
}

impl SubnetFacts {
    /// The last complete inventory.
    #[must_use]
    pub fn inventory(&self) -> Option<&Inventory> {
        self.last.as_ref()
    }

    /// Did the last question about it fail, whichever it was?
    pub(crate) const fn asked_in_vain(&self) -> bool {
        self.unread.is_some() || self.failed.is_some()
    }

    /// It and its last inventory, once EC2 has answered both questions.
    pub(crate) fn looked_at(&self) -> Option<(&Self, &Inventory)> {
        let inventory = self.inventory().filter(|_| !self.cidrs.is_empty());
        inventory.map(|inventory| (self, inventory))
    }

    /// EC2 answered a write of ours.
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

    /// Asks for an inventory at that moment, if none is due before.
    pub(crate) fn want(&mut self, at: Instant) {
        self.wanted = Some(self.wanted.map_or(at, |wanted| wanted.min(at)));
    }

    /// Asks for two inventories that are begun after that moment.
    pub(crate) fn want_proof(&mut self, after: Instant) {
        self.proof = self.proof.max(Some(after));
        self.want(after.plus(Duration::from_millis(1)));
    }

    /// When the next inventory is due.
    pub(crate) fn due(&self, interval: Duration) -> Instant {
        let Some(tried) = self.tried else {
            return Instant::START;
        };
        if let Some(failed) = &self.failed {
            return failed.until;
        }
        let regular = tried.plus(interval);
        self.wanted.map_or(regular, |wanted| wanted.min(regular))
    }

    pub(crate) fn inventory_failed(&mut self, id: &SubnetId, outcome: Outcome, now: Instant) {
        let failed =
            backoff::of_describe(Some(outcome)).after(self.failed.as_ref(), id.as_str(), now);
        self.failed = Some(failed);
        // What is not permitted is said until an inventory is complete, whatever fails besides.
        if self.failed_with != Some(Outcome::Denied) {
            self.failed_with = Some(outcome);
        }
    }

    /// EC2 serves no inventory: it does not permit one, or has not answered one twice in a row.
    pub(crate) fn unserved(&self) -> Option<Outcome> {
        let repeated = self.failed.as_ref()?.repeated();
        self.failed_with
            .filter(|outcome| *outcome == Outcome::Denied || repeated)
    }

    pub(crate) fn read_failed(&mut self, id: &SubnetId, outcome: Option<Outcome>, now: Instant) {
        let unread = backoff::of_describe(outcome).after(self.unread.as_ref(), id.as_str(), now);
        self.unread = Some(unread);
        // No answer, or a throttled call, takes nothing back of what EC2 said before.
        let said = outcome.filter(|said| !matches!(said, Outcome::Unknown | Outcome::Throttled));
        self.unread_for = said.or(self.unread_for);
    }

    pub(crate) fn done(&mut self, inventory: Inventory, of_interest: &OfInterest<'_>) {
        if self.wanted.is_some_and(|wanted| wanted <= inventory.begun) {
            self.wanted = None;
        }
        self.failed = None;
        self.failed_with = None;
        self.unknown.retain(|_, since| *since >= inventory.begun);
        self.before = self.last.take();
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
        // What we wrote and do not see, or saw move by itself, gets its second look soon.
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
                    .plus(SECOND_LOOK)
                    .max(accepted.plus(Duration::from_millis(1))),
            );
        }
        if doubtful || self.before.is_none() {
            self.want(began.plus(SECOND_LOOK));
        }
        let proven = |after| self.before.as_ref().is_some_and(|it| it.begun > after);
        self.proof = self.proof.filter(|after| !proven(*after));
        if let Some(after) = self.proof {
            self.want(
                began
                    .plus(SECOND_LOOK)
                    .max(after.plus(Duration::from_millis(1))),
            );
        }
    }

    /// Is the last inventory so young that what it shows is fresh?
    pub(super) fn looked_lately(&self, interval: Duration, now: Instant) -> bool {
        let fresh_for = interval.saturating_mul(2).max(LEAST_FRESH);
        let last = self.last.as_ref();
        last.is_some_and(|last| now.since(last.begun) <= fresh_for)
    }

    /// Where the address is.
    #[must_use]
    pub fn locate(&self, address: Address, interval: Duration, now: Instant) -> Location {
        let Some(last) = &self.last else {
            return Location::default();
        };
        let fresh = self.looked_lately(interval, now) && !self.unknown.contains_key(&address);
        let shown = last.holder_of(address);
        // `done` drops an own write once two later inventories agree: it still lies over them here.
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

    /// When the older of two inventories was begun that show the address alike, with no own write over them.
    pub(super) fn agreed_since(&self, address: Address) -> Option<Instant> {
        let (last, before) = self.last.as_ref().zip(self.before.as_ref())?;
        let on = last.holder_of(address);
        let alike = before.holder_of(address) == on
            && on.is_none_or(|on| before.instance_of(on) == last.instance_of(on));
        (alike && !self.own.contains_key(&address)).then_some(before.begun)
    }

    /// The interface that the last inventory shows an address on, and its instance.
    pub(super) fn shown(&self, address: Address) -> Option<(&InterfaceId, Option<&InstanceId>)> {
        let last = self.last.as_ref()?;
        let on = last.holder_of(address)?;
        Some((on, last.instance_of(on)))
    }

    /// The interface that the last inventory shows an address on, if it was begun at least `lag` after our
    /// last write of it.
    pub(crate) fn shown_since(&self, address: Address, lag: Duration) -> Option<&InterfaceId> {
        let last = self.last.as_ref()?;
        let own = self.own.get(&address);
        let later = own.is_none_or(|own| last.begun > own.answered.plus(lag));
        last.holder_of(address).filter(|_| later)
    }

    /// An interface as the last inventory shows it.
    #[must_use]
    pub fn interface(&self, id: &InterfaceId) -> Option<&Interface> {
        self.last.as_ref()?.interfaces.get(id)
    }

    /// Do two inventories in a row show no such interface?
    #[must_use]
    pub fn interface_gone(&self, id: &InterfaceId) -> bool {
        self.last
            .as_ref()
            .zip(self.before.as_ref())
            .is_some_and(|(last, before)| {
                !last.interfaces.contains_key(id) && !before.interfaces.contains_key(id)
            })
    }

    /// The slots of an interface that are taken, own writes laid over the last inventory: a delegated
    /// prefix takes one, as an address does.
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

    /// Did the inventory before the last one show an interface attached to this instance?
    pub(crate) fn shown_before(&self, instance: Option<&InstanceId>) -> bool {
        let shown = self.before.as_ref().zip(instance);
        shown.is_some_and(|(before, instance)| {
            let mut interfaces = before.of_instance(instance);
            interfaces.any(|interface| interface.attached)
        })
    }
}
