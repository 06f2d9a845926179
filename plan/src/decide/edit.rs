//! An address that is changed: the new one is reserved first; only then is the old one let go.
//! Rules: R2.18, R4.6, R5.18 to R5.20.

use alloc::format;

use super::conditions::{Attachment, Trouble, build, claimed};
use super::reserve::Unreserved;
use super::{Next, World};
use crate::address::Address;
use crate::ec2::LATE_CALL;
use crate::facts::SubnetFacts;
use crate::names::InterfaceId;
use crate::objects::{Claim, ClaimPhase, IpStatus, Pod, Previous, Target};
use crate::reason::Reason;
use crate::step::{Call, Read, StatusWrite, Write};
use crate::time::Instant;

impl World<'_> {
    /// The address that the spec names, if it is another than the one reserved.
    fn other_address(&self) -> Option<Address> {
        let desired = self.ip.desired.as_ref().ok()?.address?;
        (Some(desired) != self.ip.status.address).then_some(desired)
    }

    fn other_block(&self) -> bool {
        let desired = self
            .ip
            .desired
            .as_ref()
            .ok()
            .and_then(|desired| desired.block.as_ref());
        desired.is_some_and(|block| Some(block) != self.ip.status.block.as_ref())
    }

    /// An edit while no pod holds it: reserve the new, then say so.
    pub(crate) fn edited_while_free(&self) -> Result<(), Unreserved> {
        if let Err(why) = &self.ip.desired {
            return Err(Unreserved::trouble(Reason::Invalid, why.clone()));
        }
        let moves_block = self.other_block();
        let Some(address) = self.other_address() else {
            if !moves_block {
                return Ok(());
            }
            // Another block and no address: allocated there; the old reservation is dropped after.
            self.desired_block()?;
            let status = IpStatus {
                address: None,
                block: None,
                ..self.ip.status.clone()
            };
            return Err(Unreserved::Do(
                self.write_status(StatusWrite::Reserved, status),
            ));
        };
        let block = self.desired_block()?;
        self.reserve(block, address)?;
        let status = IpStatus {
            address: Some(address),
            block: Some(block.name.clone()),
            ..self.ip.status.clone()
        };
        let conditions = build(self, &status, Ok(()), &Attachment::Unclaimed);
        Err(Unreserved::Do(self.write_status(
            StatusWrite::Reserved,
            IpStatus {
                conditions,
                ..status
            },
        )))
    }

    /// An edit while a pod holds it: `Ok` if there is none, or it has to wait and says why.
    pub(crate) fn edited_while_held(
        &self,
        holder: &Pod,
        claim: &Claim,
        target: &Target,
    ) -> Result<(), Unreserved> {
        if let Err(why) = &self.ip.desired {
            return Err(Unreserved::trouble(Reason::Invalid, why.clone()));
        }
        let Some(old) = self.ip.status.address else {
            return Ok(());
        };
        let new = self.other_address();
        let refused = |block: &str| {
            Unreserved::trouble(
                Reason::AddressChanging,
                format!(
                    "an address of block {block} cannot be given while pod {} holds {old}: remove the pod's annotation \
                     or the pod first, or take the change back",
                    claim.pod
                ),
            )
        };
        if self.other_block() {
            return Err(refused(
                self.ip
                    .desired
                    .as_ref()
                    .ok()
                    .and_then(|desired| desired.block.as_ref())
                    .map_or("", |name| name.as_str()),
            ));
        }
        let Some(new) = new else { return Ok(()) };
        let block = self.desired_block()?;
        if Some(&block.name) != self.ip.status.block.as_ref() {
            return Err(refused(block.name.as_str()));
        }
        self.reserve(block, new)?;
        let location = self.locate(new);
        let begun = self.subnet().and_then(SubnetFacts::inventory);
        let begun = begun.map(|inventory| inventory.begun);
        let looked = begun > self.memory.edit_seen;
        if !(location.fresh && looked) {
            return Err(Unreserved::Do(self.soon()));
        }
        let foreign = location.on.filter(|on| !self.explained(new, on));
        if let Some(on) = foreign.as_ref().filter(|on| !self.may_take_from(new, on)) {
            return Err(Unreserved::Trouble(
                super::trouble::foreign(self, new, on),
                Next::Rest,
            ));
        }
        Err(Unreserved::Do(self.change_to(
            new,
            holder,
            target,
            foreign.as_ref(),
        )?))
    }

    /// The claim of the same pod and place on another address.
    fn change_to(
        &self,
        new: Address,
        holder: &Pod,
        target: &Target,
        taken_from: Option<&InterfaceId>,
    ) -> Result<Next, Unreserved> {
        let mut status = self.ip.status.clone();
        // The old address is the present place of the claim, and so among them.
        let mut previous = self.previous_with_present();
        // The target explains itself.
        if let Some(on) = taken_from.filter(|on| *on != &target.place.interface) {
            previous.push(Previous {
                address: new,
                interface: on.clone(),
                instance: None,
                holder: None,
            });
        }
        status.previous = self.make_room(previous).map_err(|_| {
            Unreserved::trouble(
                Reason::PreviousFull,
                "status.previous is full: the change waits for an inventory",
            )
        })?;
        status.address = Some(new);
        status.claim = Some(Claim {
            pod: holder.key.clone(),
            uid: holder.uid.clone(),
            id: self.ip.version.into(),
            phase: ClaimPhase::Claimed(target.clone()),
        });
        status.conditions = claimed(self, &status, target);
        Ok(self.write_status(StatusWrite::Claim, status))
    }

    /// Addresses that are still reserved for us and are not ours by status any more: taken off, then
    /// let go (R2.18, R2.21). The one that is being changed to is not among them.
    pub(crate) fn drop_stale(&self) -> Next {
        let desired = self.other_address();
        // Of those of an IP that is about to be given any address, one becomes the status's: another leader may be
        // writing that just now.
        if self.ip.status.address.is_none() && desired.is_none() {
            return Next::Rest;
        }
        let stale = self.own_reservations().find(|reservation| {
            Some(reservation.address) != self.ip.status.address
                && Some(reservation.address) != desired
        });
        match stale {
            None => Next::Rest,
            Some(reservation) => match self.confirm_unassigned_for_good(reservation.address) {
                // Another may lead too, and have given the IP that very address since.
                Ok(()) if self.read_ip(&self.ip.name).is_none() => {
                    Next::read(Read::Ip(self.ip.name.clone()))
                }
                Ok(()) => Next::write(Write::Release(reservation.clone())),
                Err(next) => next,
            },
        }
    }

    /// Is an address on none of our interfaces, and will not be put there by an Assign that is still on
    /// its way? Else what to do for it. One that was edited away may have been claimed and not recorded, and another
    /// process that leads as well may have sent an Assign until it saw the Record.
    pub(crate) fn confirm_unassigned_for_good(&self, address: Address) -> Result<(), Next> {
        self.confirm_unassigned(address)?;
        let status = &self.ip.status;
        let never_there = status.previous.iter().all(|entry| entry.address != address);
        let recorded_long = status.address == Some(address) && !self.memory.ended_early;
        let settled =
            recorded_long || never_there || self.proven_off(address, self.memory.claim_seen);
        if settled { Ok(()) } else { Err(self.soon()) }
    }

    /// Do two agreeing inventories show the address nowhere of ours, both begun when no call from before
    /// that moment can land any more?
    pub(crate) fn proven_off(&self, address: Address, before: Instant) -> bool {
        let location = self.locate(address);
        let nowhere = location
            .on
            .as_ref()
            .is_none_or(|on| !self.explained(address, on));
        let since = location.agreed_since;
        nowhere && since.is_some_and(|since| since > before.plus(LATE_CALL))
    }

    /// Is an address on none of our interfaces, proven, so that what keeps it may be let go? Else what
    /// to do for it (R5.18).
    pub(crate) fn confirm_unassigned(&self, address: Address) -> Result<(), Next> {
        let soon = self.soon();
        let status = &self.ip.status;
        let mut places = status
            .previous
            .iter()
            // No call takes it off an interface that keeps it for good, and none of ours has put it there.
            .filter(|entry| entry.address == address && !self.kept_by(address, &entry.interface))
            .rev();
        if places.clone().next().is_none() {
            return Ok(());
        }
        let held = status.claim.is_some();
        if self.spec().is_none() && !held {
            return Err(self.nothing_to_ask());
        }
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
        // Inventories may lag behind a new interface: gone is what EC2 itself calls so, too.
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
        // One look that a lag does not explain shows it there again: the second one tells.
        let again = self
            .subnet()
            .and_then(|subnet| subnet.shown_since(address, LATE_CALL));
        if again.is_some_and(|on| self.explained(address, on) && !gone(on)) {
            return Err(soon);
        }
        // The claim on it was cleared, and not before each place was asked: only a late call can have
        // put it back since.
        let cleared = !held && status.address == Some(address);
        let mut unassigned = self.memory.unassigned.iter();
        if cleared || unassigned.any(|((_, of), nowhere)| *of == address && *nowhere) {
            return Ok(());
        }
        // "Not seen" may be a Describe that lags, and a move that did not end may have left it at any
        // of the places: each is asked, the latest first.
        match places.find(|entry| !taken_off(&entry.interface) && !gone(&entry.interface)) {
            Some(entry) => Err(Next::call(Call::Unassign {
                interface: entry.interface.clone(),
                address,
            })),
            None => Ok(()),
        }
    }

    /// Is there such an interface, as far as two inventories know?
    pub(crate) fn interface_lives(&self, interface: &InterfaceId) -> bool {
        self.subnet()
            .is_some_and(|subnet| !subnet.interface_gone(interface))
    }

    /// Addresses of ours besides the present one that may still be on an interface.
    pub(crate) fn stale_call(&self) -> Option<Next> {
        let status = &self.ip.status;
        self.own_reservations()
            .map(|reservation| reservation.address)
            .filter(|address| Some(*address) != status.address)
            .find_map(|address| self.confirm_unassigned(address).err())
    }

    /// The block is gone, and with it the subnet that inventories are taken of.
    fn nothing_to_ask(&self) -> Next {
        let block = self.ip.status.block.as_ref();
        let message = format!(
            "block {} is gone, so that nothing can be asked of EC2: create it again",
            block.map_or("", |block| block.as_str())
        );
        let trouble = Trouble::new(Reason::BlockMissing, message);
        self.write_conditions(Err(trouble), &Attachment::Unclaimed)
    }
}

/// The trouble of an edit that has to wait, if that is what it is.
pub(crate) fn trouble_of(unreserved: Unreserved) -> Result<Trouble, Next> {
    match unreserved {
        Unreserved::Trouble(trouble, _) => Ok(trouble),
        Unreserved::Do(next) => Err(next),
    }
}
