//! One state of the model, and the effect of each transition on it.

mod faults;
mod steps;
mod time;

use std::collections::BTreeSet;
use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::facts::{CallError, Fact, WriteOutcome};
use mooring_plan::names::InterfaceId;
use mooring_plan::objects::Ip;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Call, StatusWrite, Step, Write};
use mooring_world::cloud::Cloud;
use mooring_world::kube::Kube;

use crate::fixtures::Fixtures;
use crate::milestone::Milestone;
use crate::rules::{self, Broken};
use crate::shared::{Shared, fingerprint};
use crate::world::controller::{Controller, Sent};
use crate::world::events::Event;

/// The longest delay of a request, and the longest lag of a Describe: `plan` relies on it.
pub const MAX_DELAY: Duration = Duration::from_secs(10);

/// The number of earlier states of EC2 that a Describe can show.
const MAX_OLD_CLOUDS: usize = 2;

/// After this number of seconds without a holder, a pod that is not ready can become the holder. It is a little
/// less than a minute, because the seconds of the model are a little longer.
pub const CHOICE_TIMEOUT: u64 = 55;

/// The state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub kube: Shared<Kube>,
    pub cloud: Shared<Cloud>,
    /// Former states of EC2 and the time since each was replaced, the latest last.
    pub old_clouds: Vec<(Duration, Shared<Cloud>)>,
    pub controllers: Vec<Shared<Controller>>,
    /// The controller that leads; the others do nothing. `None`: all of them lead.
    pub leader: Option<usize>,
    /// Requests that can still be executed after their senders stopped waiting for them.
    pub late: BTreeSet<Late>,
    /// The index of the next event of each track.
    pub at: Vec<usize>,
    /// The number of faults that can still happen.
    pub faults: u8,
    /// The number of times that time has passed since the last change.
    pub waits: u8,
    /// The history that the rules need.
    pub history: History,
    /// The milestone that the last transition has reached.
    pub milestone: Option<Milestone>,
    /// The first rule that was broken.
    pub broken: Option<Broken>,
}

/// A request whose sender stopped waiting for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Late {
    pub sent: Sent,
    /// The time since it was sent.
    pub age: Duration,
    /// Was the last inventory of its sender older than a manual change?
    pub outdated: bool,
}

/// The history that the rules need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct History {
    /// Controllers whose last inventory is older than a manual change.
    pub outdated: BTreeSet<usize>,
    /// Controllers that have not read the `ReplicaSet`s since they changed.
    pub sets_unread: BTreeSet<usize>,
    /// Addresses that a person has put on an interface, and that no own call has moved since.
    pub manual: BTreeSet<(Address, InterfaceId)>,
    /// Interfaces that were detached from their machine: a write that was decided then can be late.
    pub detached: BTreeSet<InterfaceId>,
    /// The seconds since the last holder was lost, at most [`CHOICE_TIMEOUT`]. It is also [`CHOICE_TIMEOUT`] if no
    /// holder was lost, or if there is a new holder.
    pub missing_for: u64,
    /// Whether the address was moved, or shown, by anything other than the calls and inventories of the one leader.
    pub disturbed: bool,
}

/// The fact for a request whose result is unknown.
fn unknown(sent: &Sent) -> Option<Fact> {
    let name = sent.ip.clone();
    Some(match &sent.step {
        Step::Write(write) => Fact::Wrote {
            ip: name,
            write: write.clone(),
            outcome: WriteOutcome::Unknown,
        },
        Step::Call(call) => {
            let error = CallError::new(Outcome::Unknown, "Timeout");
            Fact::Called {
                ip: name,
                call: call.clone(),
                result: Err(error),
            }
        }
        Step::Read(_) => return None,
    })
}

impl State {
    /// Changes objects of the API server. Every watch gets the events.
    pub fn change_kube<R>(&mut self, change: impl FnOnce(&mut Kube) -> R) -> R {
        let before = self.kube.clone();
        let answer = self.kube.change(change);
        for (kind, fact) in self.kube.events_since(&before, false) {
            for controller in &mut self.controllers {
                controller.change(|controller| controller.enqueue(kind, fact.clone()));
            }
        }
        answer
    }

    /// Changes EC2. For some time a Describe can show the former state.
    fn change_cloud<R>(&mut self, change: impl FnOnce(&mut Cloud) -> R) -> R {
        let before = self.cloud.clone();
        let answer = self.cloud.change(change);
        if self.faults > 0 && before != self.cloud {
            self.old_clouds.push((Duration::ZERO, before));
            if self.old_clouds.len() > MAX_OLD_CLOUDS {
                self.old_clouds.remove(0);
            }
        }
        answer
    }

    /// Sorts the controllers: states that differ only in their order are the same state.
    pub fn sort_controllers(&mut self) {
        let mut order: Vec<usize> = (0..self.controllers.len()).collect();
        order.sort_by_key(|which| {
            let outdated = self.history.outdated.contains(which);
            let unread = self.history.sets_unread.contains(which);
            (fingerprint(&self.controllers[*which]), outdated, unread)
        });
        let moved = |set: &BTreeSet<usize>| {
            let now = order.iter().enumerate();
            let kept = now.filter(|(_, was)| set.contains(was));
            kept.map(|(now, _)| now).collect()
        };
        let leads = self
            .leader
            .and_then(|leader| order.iter().position(|was| *was == leader));
        self.leader = leads;
        self.history.outdated = moved(&self.history.outdated);
        self.history.sets_unread = moved(&self.history.sets_unread);
        let were = self.controllers.clone();
        self.controllers = order.iter().map(|was| were[*was].clone()).collect();
    }

    pub fn record_violation(&mut self, found: Result<(), Broken>) {
        if self.broken.is_none() {
            self.broken = found.err();
        }
    }

    /// Uses one fault. After the last fault no inventory can show an old state of EC2.
    pub fn use_fault(&mut self) {
        self.faults -= 1;
        self.waits = 0;
        if self.faults == 0 {
            self.old_clouds.clear();
        }
    }

    /// An external event happens.
    pub fn apply(&mut self, event: &Event) {
        self.waits = 0;
        let lost = match event {
            Event::PodDeleted(key) | Event::Unannotated(key) => Some(key),
            Event::PodGone(key)
                if self
                    .kube
                    .pods
                    .get(key)
                    .is_some_and(|pod| pod.deleting.is_none()) =>
            {
                Some(key)
            }
            _ => None,
        };
        // The time without a holder has a meaning only if there are revisions.
        if lost.is_some() && !self.kube.replica_sets.is_empty() {
            self.history.missing_for = 0;
        }
        let all_controllers = || (0..self.controllers.len()).collect();
        match event {
            Event::LeadChanges => self.change_leader(),
            Event::Revised(..) => self.history.sets_unread = all_controllers(),
            Event::PutManually(..) => self.history.outdated = all_controllers(),
            Event::InterfaceDetached(interface) => {
                self.history.detached.insert(interface.clone());
            }
            _ => {}
        }
        let before = self.cloud.assigned();
        let mut cloud = Cloud::clone(&self.cloud);
        self.change_kube(|kube| event.apply(kube, &mut cloud));
        self.history.disturbed |= cloud.assigned() != before;
        self.change_cloud(|was| *was = cloud);
        if let Event::PermissionGoes(_) | Event::PermissionReturns(_) = event {
            self.permissions_changed();
        }
        if let Event::PutManually(address, _) = event {
            self.history.manual.retain(|(of, _)| of != address);
            let after = self.cloud.assigned();
            self.history
                .manual
                .extend(after.difference(&before).cloned());
        }
    }

    /// Does this controller lead?
    pub fn leads(&self, which: usize) -> bool {
        self.leader.is_none_or(|leader| leader == which)
    }

    /// The next controller becomes the leader. The requests of the former leader stay in progress.
    fn change_leader(&mut self) {
        let Some(leader) = self.leader else { return };
        let next = (leader + 1) % self.controllers.len();
        self.leader = Some(next);
        self.controllers[leader].change(|controller| controller.lead(false));
        self.controllers[next].change(|controller| controller.lead(true));
        self.milestone = Some(Milestone::LeadChanged);
    }

    /// A request is executed after its sender stopped waiting for it.
    pub fn execute_late(&mut self, fixtures: &Fixtures, late: &Late) {
        self.late.remove(late);
        let before = self.cloud.assigned();
        self.execute_step(fixtures, &late.sent, late.outdated, None);
        if matches!(&late.sent.step, Step::Call(Call::Assign { .. }))
            && before != self.cloud.assigned()
        {
            self.milestone = Some(Milestone::LateAssign);
        }
    }

    fn execute_step(
        &mut self,
        fixtures: &Fixtures,
        sent: &Sent,
        outdated: bool,
        by: Option<usize>,
    ) -> Fact {
        match &sent.step {
            Step::Write(write) => {
                let before = self.kube.clone();
                let outcome = self.change_kube(|kube| kube.write(write));
                if before != self.kube {
                    self.waits = 0;
                    if matches!(
                        write,
                        Write::Status {
                            change: StatusWrite::Record,
                            ..
                        }
                    ) {
                        self.history.missing_for = CHOICE_TIMEOUT;
                    }
                }
                if matches!(outcome, WriteOutcome::Done(_)) {
                    let found = rules::when_written(self, fixtures, &before, write, by);
                    self.record_violation(found);
                    self.milestone = self.milestone.or(Milestone::of(&before, write, &self.kube));
                } else if outcome == WriteOutcome::Conflict {
                    self.milestone = self.milestone.or(Some(Milestone::Conflict));
                }
                Fact::Wrote {
                    ip: sent.ip.clone(),
                    write: write.clone(),
                    outcome,
                }
            }
            Step::Call(call) => {
                let before = self.cloud.clone();
                let addresses: Vec<Address> =
                    sent.members().iter().map(|(_, address)| *address).collect();
                let group = call.group();
                let result = self.change_cloud(|cloud| cloud.execute_together(&group, &addresses));
                let moved = before.assigned() != self.cloud.assigned();
                let found = rules::when_executed(self, &before, sent, outdated, by.is_some());
                self.record_violation(found);
                if moved {
                    self.waits = 0;
                    // The call is late: no process waits for its answer, or the IP has changed since the decision.
                    let same = |ip: &Ip| ip.uid == sent.uid && ip.version == sent.version;
                    let decided = self.kube.ips.get(&sent.ip).is_some_and(same);
                    self.history.disturbed |= by.is_none() || !decided;
                    self.history
                        .manual
                        .retain(|(of, _)| !addresses.contains(of));
                }
                if addresses.len() > 1 {
                    self.milestone = self.milestone.or(Some(match &result {
                        Ok(()) => Milestone::Together,
                        Err(_) => Milestone::RefusedTogether,
                    }));
                }
                if moved && by.is_some_and(|by| !self.leads(by)) {
                    self.milestone = self.milestone.or(Some(Milestone::FormerLeadersCall));
                }
                let refused = result.as_ref().err().and_then(|error| match error.outcome {
                    Outcome::AssignedElsewhere => Some(Milestone::Refused),
                    Outcome::Denied => Some(Milestone::Denied),
                    _ => None,
                });
                self.milestone = self.milestone.or(refused);
                Fact::Called {
                    ip: sent.ip.clone(),
                    call: call.clone(),
                    result,
                }
            }
            Step::Read(read) => Fact::ReadFailed {
                ip: sent.ip.clone(),
                read: read.clone(),
                outcome: None,
            },
        }
    }
}
