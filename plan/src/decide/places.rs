//! Status writes. Each builds the complete next status from the present one, so that no field is lost.
//! Rules: R4.16 to R4.21, R4.34, R4.35.

use alloc::vec::Vec;

use super::conditions::{self, Attachment};
use super::world::is_ours;
use super::{Next, World};
use crate::address::Address;
use crate::ec2::LATE_CALL;
use crate::names::{InterfaceId, MacAddress};
use crate::objects::{Block, Claim, ClaimPhase, IpStatus, MAX_PREVIOUS, Pod, Previous, Target};
use crate::step::{StatusWrite, Write};

/// `status.previous` is full of places that can still have an address, so no claim is possible.
pub(crate) struct PreviousFull;

impl World<'_> {
    /// A write of this status, guarded by the `resourceVersion` that the decision was made from.
    pub(crate) fn write_status(&self, change: StatusWrite, status: IpStatus) -> Next {
        let status = IpStatus {
            mac: self.mac_needed(&status),
            ..status
        };
        Next::write(Write::Status {
            ip: self.ip.name.clone(),
            version: self.ip.version,
            change,
            status,
        })
    }

    /// A write of the address that is now reserved for this IP, which no pod holds.
    pub(crate) fn write_reserved(&self, block: &Block, address: Address) -> Next {
        let mut status = IpStatus {
            address: Some(address),
            block: Some(block.name.clone()),
            ..self.ip.status.clone()
        };
        status.conditions = conditions::build(self, &status, Ok(()), &Attachment::Unclaimed);
        self.write_status(StatusWrite::Reserved, status)
    }

    /// The MAC address of the ENI of the claim (R4.35). It does not change while the ENI exists.
    pub(crate) fn mac_needed(&self, status: &IpStatus) -> Option<MacAddress> {
        let on = |status: &IpStatus| {
            let target = status.claim.as_ref().and_then(Claim::target);
            target.map(|target| target.place.interface.clone())
        };
        let interface = on(status)?;
        let shown = self
            .subnet()
            .and_then(|subnet| subnet.interface(&interface));
        let known = || {
            let present = &self.ip.status;
            present
                .mac
                .clone()
                .filter(|_| on(present).as_ref() == Some(&interface))
        };
        shown.and_then(|shown| shown.mac.clone()).or_else(known)
    }

    /// A claim for `pod` at `target`. The same write adds the places where the address is or can be to `previous`.
    pub(crate) fn claim(
        &self,
        pod: &Pod,
        target: &Target,
        taken_from: Option<&InterfaceId>,
    ) -> Result<Next, PreviousFull> {
        let mut status = self.ip.status.clone();
        let claim = Claim {
            pod: pod.key.clone(),
            uid: pod.uid.clone(),
            id: self.ip.version.into(),
            phase: ClaimPhase::Claimed(target.clone()),
        };
        status.previous = self.previous_with(&claim, target, taken_from)?;
        status.claim = Some(claim);
        status.workload = self.workload_of_claim(pod);
        if status
            .refused
            .as_ref()
            .is_some_and(|refused| refused.pod == pod.uid)
        {
            status.refused = None;
        }
        status.conditions = conditions::claimed(self, &status, target);
        Ok(self.write_status(StatusWrite::Claim, status))
    }

    /// The list `previous` with the present place and without the target; at most eight entries.
    fn previous_with(
        &self,
        claim: &Claim,
        target: &Target,
        taken_from: Option<&InterfaceId>,
    ) -> Result<Vec<Previous>, PreviousFull> {
        let mut previous = self.previous_with_present();
        let address = self.ip.status.address;
        if let Some((address, interface)) = address.zip(taken_from) {
            let entry = Previous {
                address,
                interface: interface.clone(),
                instance: None,
                holder: None,
            };
            push(&mut previous, entry);
        }
        // The claim itself explains the target. An entry for it is kept only to name a pod whose gate can still be
        // `True`: a loser on the same ENI, or the holder itself if a Record is withdrawn.
        let taken_back = self
            .ip
            .status
            .claim
            .as_ref()
            .is_some_and(|present| present.recorded() && present.uid == claim.uid);
        previous.retain(|entry| {
            Some(entry.address) != address
                || entry.interface != target.place.interface
                || entry.holder.as_ref().is_some_and(|(_, uid)| {
                    if uid == &claim.uid {
                        // Also if it got `False` before: its gate can be `True` again since.
                        taken_back
                    } else {
                        !self.memory.closed_gates.contains(uid)
                    }
                })
        });
        self.make_room(previous)
    }

    /// The list `previous` with the present place of the claim.
    pub(crate) fn previous_with_present(&self) -> Vec<Previous> {
        let status = &self.ip.status;
        let mut previous = self.previous_needed();
        let present = status
            .claim
            .as_ref()
            .and_then(|claim| Some((claim, claim.target()?)));
        if let Some(((claim, target), address)) = present.zip(status.address) {
            push(&mut previous, entry_of(claim, target, address));
        }
        previous
    }

    /// The list `previous` without places that are proven empty. A claim that is not recorded keeps all of them: it may
    /// have to go back to one of them.
    pub(crate) fn previous_needed(&self) -> Vec<Previous> {
        let status = &self.ip.status;
        let settled = status.claim.as_ref().is_none_or(Claim::recorded);
        let needed = |entry: &&Previous| !(settled && self.proven_empty(entry));
        status.previous.iter().filter(needed).cloned().collect()
    }

    /// True if two agreeing inventories show the address elsewhere or nowhere, and both began when no call from before
    /// the last change of the claim could still be executed (R4.18).
    pub(crate) fn proven_empty(&self, entry: &Previous) -> bool {
        let location = self.locate(entry.address);
        let since = self.memory.claim_seen.plus(LATE_CALL);
        let empty = location.on.as_ref() != Some(&entry.interface)
            && location.agreed_since.is_some_and(|begun| begun > since);
        empty || self.kept_by(entry.address, &entry.interface) || self.went_to_another(entry)
    }

    /// True if an edit replaced the address and it is reserved for another IP now. It was released only after it was
    /// proven to be detached, so an address on the ENI now does not belong to this IP.
    fn went_to_another(&self, entry: &Previous) -> bool {
        let reserved = self.facts.reservations.get(entry.address);
        Some(entry.address) != self.ip.status.address
            && reserved.is_some_and(|held| !is_ours(held, &self.ip.uid))
    }

    /// Limits the list to eight entries: removes the oldest that are proven empty. This is safe for a claim that is not
    /// recorded too, because its losers get `False` before it continues. The place that this write leaves stays: it
    /// can name a pod whose gate is still `True`.
    pub(crate) fn make_room(
        &self,
        mut previous: Vec<Previous>,
    ) -> Result<Vec<Previous>, PreviousFull> {
        while previous.len() > MAX_PREVIOUS {
            let empty = previous
                .iter()
                .position(|entry| {
                    !self.is_claimed_place(entry.address, &entry.interface)
                        && self.proven_empty(entry)
                })
                .ok_or(PreviousFull)?;
            previous.remove(empty);
        }
        Ok(previous)
    }
}

/// Adds an entry. Of several entries with the same address and ENI, only the newest is kept.
fn push(previous: &mut Vec<Previous>, entry: Previous) {
    previous.retain(|known| known.address != entry.address || known.interface != entry.interface);
    previous.push(entry);
}

pub(crate) fn entry_of(claim: &Claim, target: &Target, address: Address) -> Previous {
    Previous {
        address,
        interface: target.place.interface.clone(),
        instance: Some(target.place.instance.clone()),
        holder: Some((claim.pod.clone(), claim.uid.clone())),
    }
}
