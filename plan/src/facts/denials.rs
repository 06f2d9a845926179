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
    /// When EC2 denied a call, or an address took its turn to try.
    pub(super) last: Instant,
    /// Which denial.
    pub(crate) outcome: Outcome,
    /// As `CallError::text`.
    pub(crate) message: String,
}

/// The turn that a claim took in its subnet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DenialTurn {
    subnet: SubnetId,
    taken: Instant,
    /// `DeniedAction::last` of each denial before.
    before: Vec<(Action, Instant)>,
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

    /// A claim for this ENI was begun. If it is an edit or a move that waited for what EC2 denies, no address of the
    /// subnet has tried for long, and it is the turn of this IP: the others there wait again.
    pub(super) fn turn_begun(
        &mut self,
        name: &IpName,
        to: &InterfaceId,
        address: Address,
        now: Instant,
    ) -> Option<DenialTurn> {
        let ip = self.ips.get(name)?;
        let from = ip.status.claim.as_ref()?.recorded_target()?;
        let waited_for: &[Action] = if ip.status.address != Some(address) {
            &[Action::Unassign, Action::Assign]
        } else if &from.place.interface != to && ip.reassign() == Reassign::Refuse {
            &[Action::Assign]
        } else {
            &[]
        };
        let subnet = self.subnet_of(name)?;
        let mut before = Vec::new();
        for action in waited_for {
            if let Some(denial) = self.denials.get_mut(&(*action, subnet.clone())) {
                before.push((*action, denial.last));
                denial.last = now;
            }
        }
        (!before.is_empty()).then_some(DenialTurn {
            subnet,
            taken: now,
            before,
        })
    }

    /// The claim that took this turn was not written, so nothing was tried: another IP of the subnet may try.
    pub(super) fn turn_ends_unused(&mut self, turn: &DenialTurn) -> Affected {
        for (action, before) in &turn.before {
            let denial = self.denials.get_mut(&(*action, turn.subnet.clone()));
            if let Some(denial) = denial.filter(|denial| denial.last == turn.taken) {
                denial.last = *before;
            }
        }
        self.affected_by_subnet(&turn.subnet)
    }
}
