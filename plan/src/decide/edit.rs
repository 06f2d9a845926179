//! A change of the address in the spec: the new address is reserved before the old one is released.
//! Rules: R2.18, R2.21, R4.6, R5.32.

use alloc::format;

use super::conditions::{Trouble, claimed};
use super::refused::denied_edit;
use super::refused_writes::is_of_status;
use super::reserve::Unreserved;
use super::trouble::{failing_call, unserved};
use super::{Next, Notices, World};
use crate::address::Address;
use crate::facts::SubnetFacts;
use crate::names::{BlockName, InterfaceId};
use crate::objects::{Block, Claim, ClaimPhase, IpStatus, Pod, Previous, Reservation, Target};
use crate::reason::Reason;
use crate::step::{Read, StatusWrite, Write};

impl World<'_> {
    /// The address in the spec, if it differs from the reserved one.
    pub(super) fn other_address(&self) -> Option<Address> {
        let desired = self.ip.desired_address();
        desired.filter(|_| desired != self.ip.status.address)
    }

    /// The block in the spec, if it differs from the one of the reserved address.
    fn other_block(&self) -> Option<&BlockName> {
        let desired = self.ip.desired.as_ref().ok()?.block.as_ref();
        desired.filter(|_| desired != self.ip.status.block.as_ref())
    }

    /// An edit while no pod holds the IP: reserves the new address, then writes it to the status.
    pub(crate) fn edited_while_free(&self) -> Result<(), Unreserved> {
        if let Err(why) = &self.ip.desired {
            return Err(Unreserved::trouble(Reason::Invalid, why.clone()));
        }
        let Some(address) = self.other_address() else {
            if self.other_block().is_none() {
                return Ok(());
            }
            // Another block without an address: allocate there, and release the old reservation later. Until then
            // the present block stays: its inventories prove that the places of `previous` are empty.
            self.leaves_subnet_for(self.desired_block()?)?;
            let status = IpStatus {
                address: None,
                ..self.ip.status.clone()
            };
            return Err(Unreserved::Do(
                self.write_status(StatusWrite::Reserved, status),
            ));
        };
        let block = self.desired_block()?;
        self.leaves_subnet_for(block)?;
        self.reserve(block, address)?;
        Err(Unreserved::Do(self.write_reserved(block, address)))
    }

    /// `Ok` if the IP may move to this block. To one of another subnet it may not before each place of the present
    /// subnet is proven empty: no inventory of the other subnet could show a late Assign there.
    pub(super) fn leaves_subnet_for(&self, block: &Block) -> Result<(), Unreserved> {
        let from = self.spec().map(|spec| &spec.subnet);
        let to = block.spec.as_ref().ok().map(|spec| &spec.subnet);
        if from.is_none() || from == to || self.previous_needed().is_empty() {
            return Ok(());
        }
        let message = format!(
            "the change to block {} waits until two inventories show that no interface of the present subnet has the \
             address any more",
            block.name
        );
        let trouble = Trouble::new(Reason::AddressChanging, message);
        Err(Unreserved::Trouble(trouble, self.soon()))
    }

    /// An edit while a pod holds the IP. `Ok`: there is no edit. Otherwise the next step, or the reason why it must
    /// wait.
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
        let refused = |block: &BlockName| {
            Unreserved::trouble(
                Reason::AddressChanging,
                format!(
                    "an address of block {block} cannot be given while pod {} holds {old}: remove the pod's annotation \
                     or the pod first, or take the change back",
                    claim.pod
                ),
            )
        };
        if let Some(other) = self.other_block() {
            return Err(refused(other));
        }
        let Some(new) = new else { return Ok(()) };
        let block = self.desired_block()?;
        if Some(&block.name) != self.ip.status.block.as_ref() {
            return Err(refused(&block.name));
        }
        self.reserve(block, new)?;
        let location = self.locate(new);
        let begun = self.subnet().and_then(SubnetFacts::inventory);
        let begun = begun.map(|inventory| inventory.begun);
        let looked = begun > self.memory.edit_seen;
        if !(location.fresh && looked) {
            return Err(match unserved(self) {
                Some(trouble) => Unreserved::Trouble(trouble, self.soon()),
                None => Unreserved::Do(self.soon()),
            });
        }
        let foreign = location.on.filter(|on| !self.explained(new, on));
        if let Some(on) = foreign.as_ref().filter(|on| !self.may_take_from(new, on)) {
            return Err(Unreserved::Trouble(
                super::trouble::foreign(self, new, on),
                Next::Idle,
            ));
        }
        if claim.recorded()
            && let Some((trouble, wait)) = denied_edit(self, target)
        {
            return Err(Unreserved::Trouble(trouble, wait));
        }
        Err(Unreserved::Do(self.change_to(
            new,
            holder,
            target,
            foreign.as_ref(),
        )?))
    }

    /// The claim of the same pod and place, for another address.
    fn change_to(
        &self,
        new: Address,
        holder: &Pod,
        target: &Target,
        taken_from: Option<&InterfaceId>,
    ) -> Result<Next, Unreserved> {
        let mut status = self.ip.status.clone();
        // This includes the old address at the present place of the claim.
        let mut previous = self.previous_with_present();
        // The claim itself explains its target, so the target is not added.
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

    /// Addresses that are still reserved for this IP but are not in its status any more (R2.18, R2.21). The new address
    /// of an edit is not one of them.
    fn stale(&self) -> impl Iterator<Item = &Reservation> {
        let desired = self.other_address();
        let address = self.ip.status.address;
        // An allocation chooses one of the reservations, and another leader can be writing it to the status now.
        let allocates = address.is_none() && desired.is_none();
        let known = move |of| Some(of) == address || Some(of) == desired;
        let own = self.own_reservations();
        own.filter(move |reservation| !allocates && !known(reservation.address))
    }

    /// Why a stale address stays reserved while no pod holds the IP.
    pub(crate) fn stale_stays(&self) -> Option<Trouble> {
        self.stale()
            .find_map(|reservation| self.unconfirmable(reservation.address))
    }

    /// Detaches and releases stale addresses.
    pub(crate) fn drop_stale(&self, notices: &mut Notices) -> Next {
        let mut next = Next::Idle;
        for reservation in self.stale() {
            next = next.or(|| {
                let step = self.drop_reservation(reservation);
                notices.extend(failing_call(self, &step));
                self.unless_it_waits(step)
            });
        }
        next
    }

    fn drop_reservation(&self, reservation: &Reservation) -> Next {
        let release = Next::write(Write::Release(reservation.clone()));
        // While the write waits, nothing is read for it.
        if let wait @ Next::At(_) = self.unless_it_waits(release.clone()) {
            return wait;
        }
        match self.confirm_unassigned_for_good(reservation.address) {
            // Another leader can have written this address to the status since.
            Ok(()) if self.read_ip(&self.ip.name).is_none() => {
                Next::read(Read::Ip(self.ip.name.clone()))
            }
            Ok(()) => release,
            Err(next) => next,
        }
    }

    /// An edit whose write the API server refuses waits as for any other trouble.
    pub(crate) fn edit_unless_refused(&self, unreserved: Unreserved) -> Unreserved {
        let Unreserved::Do(next) = unreserved else {
            return unreserved;
        };
        match self.refusal(&next).filter(|_| !is_of_status(&next)) {
            Some(trouble) => Unreserved::Trouble(trouble, self.unless_it_waits(next)),
            None => Unreserved::Do(next),
        }
    }

    /// Why a reservation or an edit must wait, and when to look again. What is done for the holder, or for a pod that
    /// waits, goes on. `Err`: the step that must be done first.
    pub(crate) fn trouble_of(
        &self,
        edited: Result<(), Unreserved>,
    ) -> Result<(Result<(), Trouble>, Next), Next> {
        match edited.map_err(|unreserved| self.edit_unless_refused(unreserved)) {
            Ok(()) => Ok((Ok(()), Next::Idle)),
            Err(Unreserved::Trouble(trouble, later)) => Ok((Err(trouble), later)),
            Err(Unreserved::Do(next)) if is_of_status(&next) => Err(next),
            Err(Unreserved::Do(next)) => match self.unless_it_waits(next) {
                step @ Next::Do(..) => Err(step),
                later => Ok((Ok(()), later)),
            },
        }
    }
}
