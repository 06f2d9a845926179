//! The known facts from the view of one IP.

use super::Next;
use crate::address::Address;
use crate::cloud::Reassign;
use crate::facts::{Facts, Immovable, IpRead, Location, Memory, PodSeen, SubnetFacts};
use crate::names::{InterfaceId, IpName, IpUid, PodKey, PodUid};
use crate::objects::{Block, BlockSpec, Claim, Ip, Pod, Reservation};
use crate::outcome::Action;
use crate::reason::Reason;
use crate::step::{Notice, Regarding, Write};
use crate::time::Instant;

use alloc::string::String;
use core::time::Duration;

/// The facts about one IP at one time.
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

    /// Decide again in a second: the awaited fact needs no step of this IP.
    pub(crate) const fn soon(&self) -> Next {
        Next::At(self.now.plus(Duration::from_secs(1)))
    }

    /// When this IP may try a call of this action. None: no outage, or the IP may try now.
    pub(crate) fn outage_until(&self, action: Action) -> Option<Instant> {
        let outage = self.facts.outages.get(&action)?;
        Some(outage.due(&self.ip.name)).filter(|due| *due > self.now)
    }

    pub(crate) fn reassign(&self) -> Reassign {
        self.ip.reassign()
    }

    pub(crate) fn spec(&self) -> Option<&'a BlockSpec> {
        self.block?.spec.as_ref().ok()
    }

    pub(crate) fn subnet(&self) -> Option<&'a SubnetFacts> {
        self.facts.subnets.get(&self.spec()?.subnet)
    }

    /// The location of an address of the block. Not fresh without an inventory.
    pub(crate) fn locate(&self, address: Address) -> Location {
        self.subnet().map_or_else(Location::default, |subnet| {
            subnet.locate(address, self.facts.settings.inventory_interval, self.now)
        })
    }

    /// The pods with the label of this IP, including those that were admitted for an earlier IP of the same name.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &'a PodSeen> {
        self.facts.pods_asking(&self.ip.name)
    }

    pub(crate) fn pod(&self, uid: &PodUid) -> Option<&'a PodSeen> {
        self.facts.pods.get(uid)
    }

    /// The answer to a quorum read of this round. None: not read; `Some(None)`: 404.
    #[expect(
        clippy::option_option,
        reason = "not read, read and not there, read: three answers"
    )]
    pub(crate) fn read_pod(&self, key: &PodKey) -> Option<Option<&'a Pod>> {
        let read = self.facts.reads.pods.get(key)?;
        let fresh = self.memory.fresh(read.begun, self.now);
        fresh.then_some(read.value.as_ref())
    }

    /// As [`Self::read_pod`], for an IP.
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

    /// True if the last inventory, begun after the last own write, shows the address on an ENI that does not explain
    /// it.
    pub(crate) fn shown_on_foreign(&self, address: Address) -> bool {
        let on = self.shown_on(address);
        on.is_some_and(|on| !self.explained(address, on))
    }

    /// The ENI on which the last inventory, begun after the last own write, shows the address.
    pub(crate) fn shown_on(&self, address: Address) -> Option<&'a InterfaceId> {
        self.subnet()?.shown_since(address, Duration::ZERO)
    }

    /// The ENI from which EC2 cannot move the address, if there is one.
    pub(crate) fn immovable(&self, address: Address) -> Option<Immovable<'a>> {
        self.subnet()?.immovable(address)
    }

    /// True if the ENI explains the address: the status names it as the place or as a previous place (R4.22, R4.24).
    pub(crate) fn explained(&self, address: Address, interface: &InterfaceId) -> bool {
        if self.kept_by(address, interface) {
            return false;
        }
        let mut previous = self.ip.status.previous.iter();
        self.is_claimed_place(address, interface)
            || previous.any(|entry| entry.address == address && &entry.interface == interface)
    }

    /// True if the claim, recorded or not, is of this address at this ENI.
    pub(crate) fn is_claimed_place(&self, address: Address, interface: &InterfaceId) -> bool {
        let status = &self.ip.status;
        let target = status.claim.as_ref().and_then(Claim::target);
        status.address == Some(address)
            && target.is_some_and(|target| &target.place.interface == interface)
    }

    /// True if EC2 cannot move the address from this ENI. Then Mooring did not put it there.
    pub(crate) fn kept_by(&self, address: Address, interface: &InterfaceId) -> bool {
        self.immovable(address)
            .is_some_and(|kept| kept.on == interface)
    }

    /// True if the annotation `take-from` names this ENI and EC2 can move the address from it (R4.26).
    pub(crate) fn may_take_from(&self, address: Address, interface: &InterfaceId) -> bool {
        self.ip.take_from.as_ref() == Some(interface) && !self.kept_by(address, interface)
    }

    /// Adds the finalizer, without which a deletion detaches nothing. A client can have removed it (R4.47).
    pub(crate) fn add_finalizer(&self) -> Next {
        if self.ip.finalizer || self.ip.deleting {
            return Next::Idle;
        }
        Next::write(Write::AddFinalizer {
            ip: self.ip.name.clone(),
            version: self.ip.version,
        })
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

/// True if the reservation belongs to the IP by label or by owner. One of them is enough, since the other can have been
/// removed. The name is never enough (R2.7, R2.9).
pub(crate) fn is_ours(reservation: &Reservation, uid: &IpUid) -> bool {
    reservation.label.as_ref() == Some(uid) || reservation.owner.as_ref() == Some(uid)
}
