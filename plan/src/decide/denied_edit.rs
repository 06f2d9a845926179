//! An edit of the address while EC2 does not permit to unassign the present one: the pod keeps that.
//! Rules: R5.6, R5.8, R5.32.

use alloc::format;

use super::conditions::Trouble;
use super::reserve::Unreserved;
use super::trouble::not_permitted;
use super::{Next, World};
use crate::address::Address;
use crate::backoff::REFUSALS;
use crate::facts::SubnetFacts;
use crate::objects::{Pod, Target};
use crate::outcome::Action;
use crate::reason::Reason;
use crate::step::Call;
use crate::time::Instant;

impl World<'_> {
    /// Why an edit may not begin yet, and when it may: EC2 does not permit the call that it begins with. Each try costs
    /// the pod its readiness for a moment, so the waits are those of R5.6.
    pub(crate) fn edit_not_permitted(
        &self,
        old: Address,
        target: &Target,
    ) -> Option<(Trouble, Instant)> {
        let action = Action::Unassign;
        let at = &target.place.interface;
        // Where the pod does not have the old address, nothing is taken from it.
        self.locate(old).on.filter(|on| on == at)?;
        let failures = &self.memory.failures;
        let outage = self.facts.outages.get(&action).map(|outage| outage.outcome);
        let denied = outage.filter(|outcome| outcome.is_denial());
        let outcome = denied.or_else(|| failures.denied_alone_as(action))?;
        let tried = Some(self.memory.claim_seen).max(self.memory.edit_seen)?;
        let wait = REFUSALS.wait_after(failures.times_denied().saturating_sub(1));
        let again = Some(tried.plus(wait)).max(self.outage_until(action))?;
        let message = format!(
            "{}. The pod keeps {old} until then",
            not_permitted(action, &format!(" on {at}"), outcome)
        );
        let trouble = Trouble::new(Reason::AccessDenied, message);
        (again > self.now).then_some((trouble, again))
    }

    /// When an edit is tried again, if it waits for a permission and for nothing else.
    pub(crate) fn edit_again(&self, target: &Target, reserved: Result<(), &Trouble>) -> Next {
        let edited = self.other_address().and(self.ip.status.address);
        let waits = edited.and_then(|old| self.edit_not_permitted(old, target));
        let waits = waits.filter(|(trouble, _)| reserved == Err(trouble));
        waits.map_or(Next::Idle, |(_, again)| Next::At(again))
    }

    /// EC2 denied the Unassign of an edit, and an inventory that began after that shows the old address still at the
    /// target: back to that address, as by an edit.
    pub(crate) fn back_from_edit(&self, holder: &Pod, target: &Target) -> Option<Next> {
        let failed = self.memory.failures.call.as_ref();
        let failed = failed.filter(|failed| failed.outcome.is_denial())?;
        let Call::Unassign {
            interface,
            address: old,
        } = &failed.call
        else {
            return None;
        };
        let old = *old;
        let replaced = self.ip.status.address != Some(old) && interface == &target.place.interface;
        let location = self.locate(old);
        let seen = self.subnet().and_then(SubnetFacts::inventory);
        let still = location.fresh
            && location.on.as_ref() == Some(interface)
            && self.explained(old, interface)
            && seen.is_some_and(|inventory| inventory.begun > failed.at);
        if !(replaced && still) {
            return None;
        }
        // Another IP can have the address only after this one has released it.
        let reservation = self.own_reservation(old)?;
        let back = self
            .reserve(self.block?, reservation.address)
            .and_then(|()| self.change_to(old, holder, target, None));
        match back {
            Ok(next) | Err(Unreserved::Do(next)) => Some(next),
            Err(Unreserved::Trouble(..)) => None,
        }
    }
}
