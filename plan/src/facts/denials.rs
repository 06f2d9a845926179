//! The actions that EC2 denies in a subnet. An IAM policy permits subnets, so a denial in one says nothing about another.
//! Rule: R5.32.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::{Affected, CallError, Facts};
use crate::address::Address;
use crate::cloud::Reassign;
use crate::names::{InterfaceId, IpName, SubnetId};
use crate::outcome::{Action, Outcome};
use crate::time::Instant;

/// After this time without a denial, one address of the subnet tries a move that can leave it nowhere.
const UNTRIED: Duration = Duration::from_mins(5);

/// The last denial of an action in a subnet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DeniedAction {
    /// When EC2 denied a call, or the claim of an address that tries was written.
    pub(super) last: Instant,
    /// Which denial.
    pub(crate) outcome: Outcome,
    /// As `CallError::text`.
    pub(crate) message: String,
}

/// The turn of a claim whose write was sent, to try what EC2 denies in its subnet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DenialTurn {
    subnet: SubnetId,
    actions: &'static [Action],
}

impl DeniedAction {
    /// When a move in the subnet may try that can leave its address nowhere.
    pub(crate) fn untried_at(&self) -> Instant {
        self.last.plus(UNTRIED)
    }
}

impl Facts {
    /// The denial of this action in this subnet.
    pub(crate) fn denial(&self, action: Action, subnet: &SubnetId) -> Option<&DeniedAction> {
        self.denials.get(&(action, subnet.clone()))
    }

    /// A call of this IP was answered. Returns the IPs of the subnet if a denial there begins, changes or ends.
    pub(super) fn follow_denial(
        &mut self,
        name: &IpName,
        action: Action,
        answer: &Result<(), CallError>,
        now: Instant,
    ) -> Affected {
        let Some(subnet) = self.subnet_of(name) else {
            return Affected::Nothing;
        };
        let key = (action, subnet.clone());
        let changes = match answer {
            Err(error) if error.outcome.is_denial() => {
                let denial = DeniedAction {
                    last: now,
                    outcome: error.outcome,
                    message: error.text.clone(),
                };
                let before = self.denials.insert(key, denial);
                before.is_none_or(|it| it.outcome != error.outcome || it.message != error.text)
            }
            // It says nothing about permissions.
            Err(error) if error.outcome.is_of_all() => false,
            _ => self.denials.remove(&key).is_some(),
        };
        if changes {
            self.affected_by_subnet(&subnet)
        } else {
            Affected::Nothing
        }
    }

    /// True if the claim of another IP of the subnet takes the turn to try the action: its write is in flight.
    pub(crate) fn another_tries(&self, action: Action, subnet: &SubnetId, name: &IpName) -> bool {
        let others = self.claims_begun.iter().filter(|(of, _)| *of != name);
        let mut turns = others.filter_map(|(_, begun)| begun.turn.as_ref());
        turns.any(|turn| &turn.subnet == subnet && turn.actions.contains(&action))
    }

    /// The turn that a claim for this ENI takes: it is an edit or a move that waited for what EC2 denies in the subnet.
    pub(super) fn turn_of(
        &self,
        name: &IpName,
        to: &InterfaceId,
        address: Address,
    ) -> Option<DenialTurn> {
        let ip = self.ips.get(name)?;
        let from = ip.status.claim.as_ref()?.recorded_target()?;
        let actions: &[Action] = if ip.status.address != Some(address) {
            &[Action::Unassign, Action::Assign]
        } else if &from.place.interface != to && ip.reassign() == Reassign::Refuse {
            &[Action::Assign]
        } else {
            return None;
        };
        let subnet = self.subnet_of(name)?;
        let denied = |action: &Action| self.denial(*action, &subnet).is_some();
        let waited = actions.iter().any(denied);
        waited.then_some(DenialTurn { subnet, actions })
    }

    /// It is known whether the claim that took this turn was written. If it was, the others of the subnet wait again. If
    /// not, nothing is tried, and another one may.
    pub(super) fn turn_ended(
        &mut self,
        turn: &DenialTurn,
        written: bool,
        now: Instant,
    ) -> Affected {
        for action in turn.actions.iter().filter(|_| written) {
            if let Some(denial) = self.denials.get_mut(&(*action, turn.subnet.clone())) {
                denial.last = now;
            }
        }
        self.affected_by_turn(turn)
    }

    /// The IPs that wait while this turn is taken.
    pub(super) fn affected_by_turn(&self, turn: &DenialTurn) -> Affected {
        self.affected_by_subnet(&turn.subnet)
    }
}
