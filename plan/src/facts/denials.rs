//! The actions that EC2 denies in a subnet. An IAM policy permits subnets, so a denial in one says nothing about another.
//! Rules: R5.32, R6.8.

use alloc::collections::BTreeSet;
use alloc::string::String;
use core::time::Duration;

use super::{Affected, CallError, Facts};
use crate::address::Address;
use crate::cloud::Reassign;
use crate::names::{InterfaceId, IpName, SubnetId};
use crate::objects::{Ip, Pod};
use crate::outcome::{Action, Outcome};
use crate::reason::Reason;
use crate::time::Instant;

/// After this time without a denial, one address of the subnet tries a move that can leave it nowhere.
const UNTRIED: Duration = Duration::from_mins(5);

/// An action that EC2 denies in a subnet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DeniedAction {
    /// When one address may try a move that can leave it nowhere: [`UNTRIED`] after the last denial, or after the claim
    /// of the last address that tries was written.
    pub(crate) due: Instant,
    /// The last denial, and its text as `CallError::text`. None: this process has seen none, but objects showed one when
    /// it began to lead.
    pub(crate) answer: Option<(Outcome, String)>,
}

/// The turn of a claim whose write was sent, to try what EC2 denies in its subnet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DenialTurn {
    subnet: SubnetId,
    actions: &'static [Action],
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
                let answer = Some((error.outcome, error.text.clone()));
                let denial = DeniedAction {
                    due: now.plus(UNTRIED),
                    answer: answer.clone(),
                };
                let before = self.denials.insert(key, denial);
                let returned = action == Action::Unassign && self.return_turn(&subnet, now);
                returned || before.is_none_or(|it| it.answer != answer)
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

    /// The Unassign of a move is denied, so no Assign was tried: where only objects showed that Assign is denied, which can
    /// have been this denial, the next move may try. Returns true if that ends a wait.
    fn return_turn(&mut self, subnet: &SubnetId, now: Instant) -> bool {
        let assign = self.denials.get_mut(&(Action::Assign, subnet.clone()));
        let waits = assign.filter(|denial| denial.answer.is_none() && denial.due > now);
        waits.map(|denial| denial.due = now).is_some()
    }

    /// This process begins to lead, and EC2 has denied it nothing yet. In the subnets where objects show a denial one
    /// address tries first: its answer says whether all may.
    pub(super) fn see_denials_of_objects(&mut self, now: Instant) {
        let denied = |pod: &Pod| {
            let mut gate = pod.gate.iter().filter(|gate| !gate.status);
            pod.wants_address() && gate.any(|gate| gate.reason == Reason::AccessDenied.as_str())
        };
        let pods = self.pods.values().map(|seen| &seen.pod);
        let of_pods = pods
            .filter(|pod| denied(pod))
            .filter_map(|pod| pod.label.as_ref());
        let not_ready = |ip: &&Ip| {
            let ready = ip.status.conditions.ready.as_ref();
            ready.is_some_and(|ready| !ready.status && ready.reason == Reason::AccessDenied)
        };
        let ips = self.ips.values().filter(not_ready).map(|ip| &ip.name);
        let subnets = of_pods.chain(ips).filter_map(|name| self.subnet_of(name));
        let subnets: BTreeSet<SubnetId> = subnets.collect();
        // The objects do not show which of the two is denied.
        let actions = [Action::Unassign, Action::Assign].into_iter();
        self.denials = actions
            .flat_map(|action| subnets.iter().map(move |subnet| (action, subnet.clone())))
            .map(|key| {
                let denial = DeniedAction {
                    due: now,
                    answer: None,
                };
                (key, denial)
            })
            .collect();
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
                denial.due = now.plus(UNTRIED);
            }
        }
        self.affected_by_turn(turn)
    }

    /// The IPs that wait while this turn is taken.
    pub(super) fn affected_by_turn(&self, turn: &DenialTurn) -> Affected {
        self.affected_by_subnet(&turn.subnet)
    }
}
