//! Confirmed detach: before a reservation or a finalizer is released, every place that can have the address was asked, and
//! answered that it does not have it.
//! Rules: R5.18 to R5.20.

use super::conditions::Trouble;
use super::trouble::no_block;
use super::{Next, World};
use crate::address::Address;
use crate::ec2::LATE_CALL;
use crate::names::InterfaceId;
use crate::objects::Previous;
use crate::step::Call;
use crate::time::Instant;

impl World<'_> {
    /// `Ok` if an address is on none of our ENIs and no late Assign can put it there; otherwise the next step. After an
    /// edit, the old address can have had a claim without a Record, and another leader can have sent an Assign until
    /// it saw the Record.
    pub(crate) fn confirm_unassigned_for_good(&self, address: Address) -> Result<(), Next> {
        self.confirm_unassigned(address)?;
        let status = &self.ip.status;
        let never_there = status.previous.iter().all(|entry| entry.address != address);
        let recorded_long = status.address == Some(address) && !self.memory.ended_early;
        let settled =
            recorded_long || never_there || self.proven_off(address, self.memory.claim_seen);
        if settled { Ok(()) } else { Err(self.soon()) }
    }

    /// True if two agreeing inventories show the address on none of our ENIs, and both began when no call that was sent
    /// before `before` could still be executed.
    pub(crate) fn proven_off(&self, address: Address, before: Instant) -> bool {
        let location = self.locate(address);
        let nowhere = location
            .on
            .as_ref()
            .is_none_or(|on| !self.explained(address, on));
        let since = location.agreed_since;
        nowhere && since.is_some_and(|since| since > before.plus(LATE_CALL))
    }

    /// `Ok` if the detach of an address is confirmed, so that its claim or reservation may end; otherwise the next step
    /// (R5.18).
    pub(crate) fn confirm_unassigned(&self, address: Address) -> Result<(), Next> {
        let soon = self.soon();
        let status = &self.ip.status;
        let mut places = self.places_of(address).rev();
        if places.clone().next().is_none() {
            return Ok(());
        }
        if self.unconfirmable(address).is_some() {
            return Err(Next::Idle);
        }
        let held = status.claim.is_some();
        let location = self.locate(address);
        if !location.fresh {
            return Err(soon);
        }
        if self.proven_off(address, self.memory.claim_seen) {
            return Ok(());
        }
        let taken_off = |interface: &InterfaceId| {
            self.memory
                .unassigned
                .contains_key(&(interface.clone(), address))
        };
        // Inventories may not show a new ENI yet: it counts as gone only if EC2 also answered NotFound.
        let gone = |interface: &InterfaceId| {
            self.memory.missing.contains(interface) && !self.interface_lives(interface)
        };
        let seen = location
            .on
            .as_ref()
            .filter(|on| self.explained(address, on) && !gone(on));
        if let Some(on) = seen {
            return Err(Next::call(Call::Unassign {
                interface: on.clone(),
                address,
            }));
        }
        // One inventory shows it there again, too late for a Describe lag: the second inventory decides.
        let again = self
            .subnet()
            .and_then(|subnet| subnet.shown_since(address, LATE_CALL));
        if again.is_some_and(|on| self.explained(address, on) && !gone(on)) {
            return Err(soon);
        }
        // The claim was cleared after every place was asked, so only a late call can have put it back since.
        let cleared = !held && status.address == Some(address);
        let mut unassigned = self.memory.unassigned.iter();
        if cleared || unassigned.any(|((_, of), nowhere)| *of == address && *nowhere) {
            return Ok(());
        }
        // If no inventory shows it, Describe can lag, and an unfinished move can have left it at any of the places. So
        // each place is asked, the latest first.
        match places.find(|entry| !taken_off(&entry.interface) && !gone(&entry.interface)) {
            Some(entry) => Err(Next::call(Call::Unassign {
                interface: entry.interface.clone(),
                address,
            })),
            None => Ok(()),
        }
    }

    /// Why the detach of an address cannot be confirmed while no pod holds the IP: it can be on an ENI, and the block is
    /// gone or cannot be read.
    pub(crate) fn unconfirmable(&self, address: Address) -> Option<Trouble> {
        if self.ip.status.claim.is_some() {
            return None;
        }
        self.places_of(address).next().and_then(|_| no_block(self))
    }

    /// The places that can have an address. An ENI that has it as primary or prefix address keeps it for good, and did
    /// not get it from Mooring.
    fn places_of(&self, address: Address) -> impl DoubleEndedIterator<Item = &Previous> + Clone {
        let kept = move |on| self.kept_by(address, on);
        let places = self.ip.status.previous.iter();
        places.filter(move |entry| entry.address == address && !kept(&entry.interface))
    }

    /// False if two inventories in sequence do not show the ENI.
    pub(crate) fn interface_lives(&self, interface: &InterfaceId) -> bool {
        self.subnet()
            .is_some_and(|subnet| !subnet.interface_gone(interface))
    }

    /// The next step for other reserved addresses of this IP that can still be on an ENI.
    pub(crate) fn stale_call(&self) -> Option<Next> {
        let status = &self.ip.status;
        self.own_reservations()
            .map(|reservation| reservation.address)
            .filter(|address| Some(*address) != status.address)
            .find_map(|address| self.confirm_unassigned(address).err())
    }
}
