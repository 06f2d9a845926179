//! What is known, as seen from one IP.

use super::Next;
use crate::address::Address;
use crate::cloud::Reassign;
use crate::facts::{Facts, Immovable, IpRead, Location, Memory, PodSeen, SubnetFacts};
use crate::names::{InterfaceId, IpName, IpUid, PodKey, PodUid};
use crate::objects::{Block, BlockSpec, Claim, Ip, Pod, Reservation};
use crate::outcome::Action;
use crate::reason::Reason;
use crate::step::{Notice, Regarding};
use crate::time::Instant;

use alloc::string::String;
use core::time::Duration;

/// One IP's world at one moment.
pub struct World<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) ip: &'a Ip,
    pub(crate) memory: &'a Memory,
    pub(crate) now: Instant,
    /// The block that the address is reserved in.
    pub(crate) block: Option<&'a Block>,
}

impl<'a> World<'a> {
    /// The world of an IP; None if there is no such IP.
    #[must_use]
    pub fn of(facts: &'a Facts, name: &IpName, now: Instant) -> Option<Self> {
        let ip = facts.ips.get(name)?;
        let memory = facts.memory.get(name)?;
        let block = ip
            .status
            .block
            .as_ref()
            .and_then(|block| facts.blocks.get(block));
        Some(Self {
            facts,
            ip,
            memory,
            now,
            block,
        })
    }

    /// Looking again in a second: what is waited for comes by itself.
    pub(crate) const fn soon(&self) -> Next {
        Next::At(self.now.plus(Duration::from_secs(1)))
    }

    /// When this IP may try a call of that action, if there is an outage of the action and it may not now.
    pub(crate) fn outage_until(&self, action: Action) -> Option<Instant> {
        let outage = self.facts.outages.get(&action)?;
        Some(outage.due(&self.ip.name)).filter(|due| *due > self.now)
    }

    pub(crate) fn reassign(&self) -> Reassign {
        let desired = self.ip.desired.as_ref();
        desired.map_or(Reassign::Refuse, |desired| desired.reassign)
    }

    pub(crate) fn spec(&self) -> Option<&'a BlockSpec> {
        self.block?.spec.as_ref().ok()
    }

    pub(crate) fn subnet(&self) -> Option<&'a SubnetFacts> {
        self.facts.subnets.get(&self.spec()?.subnet)
    }

    /// Where an address of the block is. Not fresh while there is no inventory.
    pub(crate) fn locate(&self, address: Address) -> Location {
        self.subnet().map_or_else(Location::default, |subnet| {
            subnet.locate(address, self.facts.settings.inventory_interval, self.now)
        })
    }

    /// The pods that carry this IP's label; also those that were meant for an earlier IP of its name.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &'a PodSeen> {
        self.facts
            .pods_of
            .of(&self.ip.name)
            .filter_map(|uid| self.facts.pods.get(uid))
    }

    pub(crate) fn pod(&self, uid: &PodUid) -> Option<&'a PodSeen> {
        self.facts.pods.get(uid)
    }

    /// The answer to a quorum read of this round: `Some(None)` is a 404.
    #[expect(
        clippy::option_option,
        reason = "not read, read and not there, read: three answers"
    )]
    pub(crate) fn read_pod(&self, key: &PodKey) -> Option<Option<&'a Pod>> {
        let read = self.facts.reads.pods.get(key)?;
        let fresh = self.memory.fresh(read.begun, self.now);
        fresh.then_some(read.value.as_ref())
    }

    /// As [`Self::read_pod`], of an IP.
    #[expect(
        clippy::option_option,
        reason = "not read, read and not there, read: three answers"
    )]
    pub(crate) fn read_ip(&self, name: &IpName) -> Option<Option<&'a IpRead>> {
        let read = self.facts.reads.ips.get(name)?;
        let fresh = self.memory.fresh(read.begun, self.now);
        fresh.then_some(read.value.as_ref())
    }

    pub(crate) fn own_reservation(&self, address: Address) -> Option<&'a Reservation> {
        self.facts
            .reservations
            .get(address)
            .filter(|reservation| is_ours(reservation, &self.ip.uid))
    }

    /// The addresses that are reserved for this IP, as the watch shows it.
    pub(crate) fn own_reservations(&self) -> impl Iterator<Item = &'a Reservation> {
        self.facts.reservations.of(&self.ip.uid)
    }

    /// Does the last inventory, begun after our last write, show the address where nothing of ours explains it?
    pub(crate) fn shown_on_foreign(&self, address: Address) -> bool {
        self.subnet()
            .and_then(|subnet| subnet.shown_since(address, Duration::ZERO))
            .is_some_and(|on| !self.explained(address, on))
    }

    /// The interface that keeps the address for as long as it exists, if there is one.
    pub(crate) fn immovable(&self, address: Address) -> Option<Immovable<'a>> {
        self.subnet()?.immovable(address)
    }

    /// Does the status say that we put the address on this interface (R4.22, R4.24)?
    pub(crate) fn explained(&self, address: Address, interface: &InterfaceId) -> bool {
        if self.kept_by(address, interface) {
            return false;
        }
        let status = &self.ip.status;
        let target = status.claim.as_ref().and_then(Claim::target);
        (status.address == Some(address)
            && target.is_some_and(|target| &target.place.interface == interface))
            || status
                .previous
                .iter()
                .any(|entry| entry.address == address && &entry.interface == interface)
    }

    /// Does this interface keep the address for as long as it exists? Then it is never ours there.
    pub(crate) fn kept_by(&self, address: Address, interface: &InterfaceId) -> bool {
        self.immovable(address)
            .is_some_and(|kept| kept.on == interface)
    }

    /// Does the user say that the address is to be taken off this interface, and can it be (R4.26)?
    pub(crate) fn may_take_from(&self, address: Address, interface: &InterfaceId) -> bool {
        self.ip.take_from.as_ref() == Some(interface) && !self.kept_by(address, interface)
    }

    pub(crate) fn on_ip(&self, reason: Reason, message: String) -> Notice {
        Notice {
            on: Regarding::Ip(self.ip.name.clone(), self.ip.uid.clone()),
            reason,
            message,
        }
    }
}

pub(crate) fn on_pod(pod: &Pod, reason: Reason, message: String) -> Notice {
    Notice {
        on: Regarding::Pod(pod.key.clone(), pod.uid.clone()),
        reason,
        message,
    }
}

/// By label or by owner: one of the two is enough, since either may be stripped. Never by name (R2.7, R2.9).
pub(crate) fn is_ours(reservation: &Reservation, uid: &IpUid) -> bool {
    reservation.label.as_ref() == Some(uid) || reservation.owner.as_ref() == Some(uid)
}
