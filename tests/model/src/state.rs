//! One state of everything, and what each transition makes of it.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use mooring_plan::facts::{CallError, Fact, Kind, WriteOutcome};
use mooring_plan::names::{InterfaceId, IpName, Millis};
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Call, Read, StatusWrite, Step, Write};

use crate::cast::Cast;
use crate::mark::Mark;
use crate::rules::{self, Broken};
use crate::shared::{Shared, fingerprint};
use crate::world::cloud::Cloud;
use crate::world::controller::{Controller, Sent};
use crate::world::events::Event;
use crate::world::kube::Kube;

/// The longest delay of a request, and the longest lag of a Describe: `plan` relies on it.
pub const LATENESS: u64 = 10_000;

/// So many earlier states of EC2 may be shown by a Describe.
const PAST: usize = 2;

/// So many seconds without a holder are patience enough: a minute, as the model's seconds are a little
/// long.
pub const PATIENCE: u64 = 55;

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub kube: Shared<Kube>,
    pub cloud: Shared<Cloud>,
    /// What EC2 was, and how long ago that changed, the latest last.
    pub past: Vec<(u64, Shared<Cloud>)>,
    pub controllers: Vec<Shared<Controller>>,
    /// Which of them leads, the others doing nothing; None: all of them do.
    pub leader: Option<usize>,
    /// Requests that nobody waits for any more and that may still be executed.
    pub late: BTreeSet<Late>,
    /// How far each track of events has come.
    pub at: Vec<usize>,
    /// So many faults may still befall.
    pub faults: u8,
    /// So many times has time passed since anything changed.
    pub waits: u8,
    /// What the rules need to know of the past.
    pub past_of: PastOf,
    /// What the last transition brought about, if it is worth telling.
    pub mark: Option<Mark>,
    /// The first rule that was broken.
    pub broken: Option<Broken>,
}

/// A request that nobody waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Late {
    pub sent: Sent,
    /// For how long it has been on its way.
    pub age: u64,
    /// Was its sender's last inventory older than what somebody did by hand?
    pub outdated: bool,
}

/// What the rules need to know of the past.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PastOf {
    /// Controllers whose last inventory is older than what somebody did by hand.
    pub outdated: BTreeSet<usize>,
    /// Controllers that have not read the `ReplicaSet`s since they changed.
    pub sets_unread: BTreeSet<usize>,
    /// Addresses that somebody put somewhere, and that no call of ours has moved since.
    pub by_hand: BTreeSet<(Ipv4Addr, InterfaceId)>,
    /// For how many seconds the last holder has been missing, up to [`PATIENCE`]; that long, too, where
    /// none was lost, or one is there again.
    pub missing_for: u64,
}

/// That nothing is known of what was sent.
pub fn unknown(sent: &Sent) -> Option<Fact> {
    let name = sent.ip.clone();
    Some(match &sent.step {
        Step::Write(write) => Fact::Wrote(name, write.clone(), WriteOutcome::Unknown),
        Step::Call(call) => {
            let error = CallError {
                outcome: Outcome::Unknown,
                code: "Timeout".to_owned(),
                message: String::new(),
            };
            Fact::Called(name, call.clone(), Err(error))
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

    /// Changes EC2; a Describe may show for a while what was before.
    fn change_cloud<R>(&mut self, change: impl FnOnce(&mut Cloud) -> R) -> R {
        let before = self.cloud.clone();
        let answer = self.cloud.change(change);
        if self.faults > 0 && before != self.cloud {
            self.past.push((0, before));
            if self.past.len() > PAST {
                self.past.remove(0);
            }
        }
        answer
    }

    /// Two processes are alike: which of them is called the first makes no difference.
    pub fn arrange(&mut self) {
        let mut order: Vec<usize> = (0..self.controllers.len()).collect();
        order.sort_by_key(|which| {
            let outdated = self.past_of.outdated.contains(which);
            let unread = self.past_of.sets_unread.contains(which);
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
        self.past_of.outdated = moved(&self.past_of.outdated);
        self.past_of.sets_unread = moved(&self.past_of.sets_unread);
        let were = self.controllers.clone();
        self.controllers = order.iter().map(|was| were[*was].clone()).collect();
    }

    pub fn breaks(&mut self, found: Result<(), Broken>) {
        if self.broken.is_none() {
            self.broken = found.err();
        }
    }

    /// One fault less. Without any left, what only a fault could bring to light is forgotten.
    pub fn spend(&mut self) {
        self.faults -= 1;
        self.waits = 0;
        if self.faults == 0 {
            self.past.clear();
        }
    }

    /// Something happens that nobody asked the controllers for.
    pub fn happen(&mut self, event: &Event) {
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
        // Which revision has waited for how long matters among revisions alone.
        if lost.is_some() && !self.kube.replica_sets.is_empty() {
            self.past_of.missing_for = 0;
        }
        let everybody = || (0..self.controllers.len()).collect();
        match event {
            Event::LeadChanges => self.change_leader(),
            Event::Revised(..) => self.past_of.sets_unread = everybody(),
            Event::PutByHand(..) => self.past_of.outdated = everybody(),
            _ => {}
        }
        let before = self.cloud.assigned();
        let mut cloud = Cloud::clone(&self.cloud);
        self.change_kube(|kube| event.happen(kube, &mut cloud));
        self.change_cloud(|was| *was = cloud);
        if let Event::PutByHand(address, _) = event {
            self.past_of.by_hand.retain(|(of, _)| of != address);
            let after = self.cloud.assigned();
            self.past_of
                .by_hand
                .extend(after.difference(&before).cloned());
        }
    }

    /// Does it lead?
    pub fn leads(&self, which: usize) -> bool {
        self.leader.is_none_or(|leader| leader == which)
    }

    /// The next one begins to lead. What the one before has under way goes on.
    fn change_leader(&mut self) {
        let Some(leader) = self.leader else { return };
        let next = (leader + 1) % self.controllers.len();
        self.leader = Some(next);
        self.controllers[leader].change(|controller| controller.lead(false));
        self.controllers[next].change(|controller| controller.lead(true));
        self.mark = Some(Mark::LeadChanged);
    }

    /// A controller takes its next step for an IP: a read is answered, a write or a call leaves.
    pub fn begin(&mut self, cast: &Cast, which: usize, name: &IpName) {
        let Some(step) = self.controllers[which].next_step(name).cloned() else {
            return;
        };
        if let Step::Read(read) = step {
            if let Read::ReplicaSets(..) = read {
                self.past_of.sets_unread.remove(&which);
            }
            let fact = match &read {
                Read::Instance(id) => Fact::InstanceRead(id.clone(), self.cloud.state_of(id)),
                read => self.kube.read(name, read),
            };
            self.controllers[which].change(|controller| controller.read(name, fact));
            return;
        }
        let Some(ip) = self.controllers[which].facts().ip(name) else {
            return;
        };
        let sent = Sent {
            ip: name.clone(),
            uid: ip.uid.clone(),
            version: ip.version,
            step,
        };
        let found = rules::when_sent(self, cast, which, ip, &sent);
        self.breaks(found);
        self.controllers[which].change(|controller| controller.send(sent));
    }

    /// Every controller makes the reads that it wants, until it wants something else.
    pub fn read_what_is_wanted(&mut self, cast: &Cast) {
        for which in 0..self.controllers.len() {
            if !self.leads(which) {
                continue;
            }
            let names: Vec<IpName> = self.controllers[which]
                .facts()
                .ip_names()
                .cloned()
                .collect();
            for name in names {
                while let Some(Step::Read(_)) = self.controllers[which].next_step(&name) {
                    self.begin(cast, which, &name);
                }
            }
        }
    }

    /// What a controller sent reaches the API server, or EC2.
    pub fn execute(&mut self, cast: &Cast, which: usize, name: &IpName) {
        let Some(request) = self.controllers[which].requests.get(name) else {
            return;
        };
        let sent = request.sent.clone();
        let outdated = self.past_of.outdated.contains(&which);
        let answer = self.carry_out(cast, &sent, outdated, Some(which));
        self.controllers[which].change(|controller| {
            if let Some(request) = controller.requests.get_mut(name) {
                request.answer = Some(answer);
            }
        });
    }

    /// A controller hears the next event of a watch.
    pub fn receive(&mut self, which: usize, kind: Kind) {
        self.controllers[which].change(|controller| controller.receive(kind));
    }

    /// A controller is told the answer to what it sent.
    pub fn answer(&mut self, which: usize, name: &IpName) {
        self.controllers[which].change(|controller| controller.answer(name));
    }

    /// A request that nobody waits for lands.
    pub fn land(&mut self, cast: &Cast, late: &Late) {
        self.late.remove(late);
        let before = self.cloud.assigned();
        self.carry_out(cast, &late.sent, late.outdated, None);
        if matches!(&late.sent.step, Step::Call(Call::Assign(..)))
            && before != self.cloud.assigned()
        {
            self.mark = Some(Mark::LateAssign);
        }
    }

    fn carry_out(&mut self, cast: &Cast, sent: &Sent, outdated: bool, by: Option<usize>) -> Fact {
        match &sent.step {
            Step::Write(write) => {
                let before = self.kube.clone();
                let outcome = self.change_kube(|kube| kube.write(write));
                if before != self.kube {
                    self.waits = 0;
                    if matches!(write, Write::Status(_, _, StatusWrite::Record, _)) {
                        self.past_of.missing_for = PATIENCE;
                    }
                }
                if matches!(outcome, WriteOutcome::Done(_)) {
                    let found = rules::when_written(self, cast, &before, write, by);
                    self.breaks(found);
                    self.mark = self.mark.or(Mark::of(&before, write, &self.kube));
                } else if outcome == WriteOutcome::Conflict {
                    self.mark = self.mark.or(Some(Mark::Conflict));
                }
                Fact::Wrote(sent.ip.clone(), write.clone(), outcome)
            }
            Step::Call(call) => {
                let before = self.cloud.clone();
                let result = self.change_cloud(|cloud| cloud.execute(call));
                let moved = before.assigned() != self.cloud.assigned();
                let found = rules::when_executed(self, &before, sent, call, outdated, by.is_some());
                self.breaks(found);
                if moved {
                    self.waits = 0;
                    let address = call.address();
                    self.past_of.by_hand.retain(|(of, _)| *of != address);
                }
                if moved && by.is_some_and(|by| !self.leads(by)) {
                    self.mark = self.mark.or(Some(Mark::FormerLeadersCall));
                }
                if matches!(&result, Err(error) if error.outcome == Outcome::AssignedElsewhere) {
                    self.mark = self.mark.or(Some(Mark::Refused));
                }
                Fact::Called(sent.ip.clone(), call.clone(), result)
            }
            Step::Read(read) => Fact::ReadFailed(sent.ip.clone(), read.clone(), None),
        }
    }

    /// The sender waits no longer: it is told that nothing is known. What was not executed yet may be.
    pub fn time_out(&mut self, which: usize, name: &IpName) {
        let outdated = self.past_of.outdated.contains(&which);
        let Some(request) = self.controllers[which].requests.get(name) else {
            return;
        };
        let Some(fact) = unknown(&request.sent) else {
            return;
        };
        let request = self.controllers[which].change(|controller| controller.time_out(name, fact));
        if let Some(request) = request.filter(|request| request.answer.is_none()) {
            self.late.insert(Late {
                sent: request.sent,
                age: 0,
                outdated,
            });
        }
    }

    /// What was executed is on its way a second time.
    pub fn twice(&mut self, which: usize, name: &IpName) {
        let outdated = self.past_of.outdated.contains(&which);
        if let Some(request) = self.controllers[which].requests.get(name) {
            self.late.insert(Late {
                sent: request.sent.clone(),
                age: 0,
                outdated,
            });
        }
    }

    /// A process ends, and another begins that knows nothing of it. What it had sent is on its way.
    pub fn crash(&mut self, which: usize) {
        let outdated = self.past_of.outdated.contains(&which);
        let claimed = self.kube.ips.values().any(|ip| {
            ip.status.claim.as_ref().is_some_and(|claim| {
                !claim.recorded()
                    && claim.target().is_some_and(|target| {
                        let on = ip
                            .status
                            .address
                            .and_then(|address| self.cloud.holder_of(address));
                        on.as_ref() != Some(&target.place.interface)
                    })
            })
        });
        let requests = self.controllers[which].requests.clone();
        let assigning = requests
            .values()
            .any(|request| matches!(request.sent.step, Step::Call(_)));
        if claimed && !assigning {
            self.mark = Some(Mark::CrashAfterClaim);
        }
        let under_way = requests
            .into_values()
            .filter(|request| request.answer.is_none());
        self.late.extend(under_way.map(|request| Late {
            sent: request.sent,
            age: 0,
            outdated,
        }));
        let max_lag = self.controllers[which].max_lag;
        let started = Controller::started(&self.kube, max_lag, self.leads(which));
        self.controllers[which] = Shared::new(started);
        self.past_of.sets_unread.remove(&which);
        self.past_of.outdated.remove(&which);
    }

    /// A process's watches are begun anew: nobody saw what went in between.
    pub fn relist(&mut self, which: usize) {
        self.controllers[which].change(|controller| {
            for fact in controller.pending.values_mut().flatten() {
                if let Fact::PodDeleted(uid) = fact {
                    *fact = Fact::PodVanished(uid.clone());
                }
            }
            controller.receive_all();
        });
    }

    /// An inventory is taken; `of` says how many changes ago.
    pub fn take_inventory(&mut self, which: usize, of: usize) {
        let shown = match of {
            0 => &self.cloud,
            of => self
                .past
                .get(self.past.len() - of)
                .map_or(&self.cloud, |(_, cloud)| cloud),
        };
        let (list, outdated) = (
            shown.describe(),
            of > 0 && !self.past_of.outdated.is_empty(),
        );
        self.controllers[which].change(|controller| controller.take_inventory(list, outdated));
    }

    /// The inventory's answer comes.
    pub fn receive_inventory(&mut self, which: usize) {
        if !self.controllers[which].change(Controller::receive_inventory) {
            self.past_of.outdated.remove(&which);
        }
    }

    /// Forgets late requests that can change nothing any more: their guard is of another version.
    pub fn forget_in_vain(&mut self) {
        let kube = &self.kube;
        self.late.retain(|late| match &late.sent.step {
            Step::Write(write) => kube.may_take(write),
            Step::Call(_) | Step::Read(_) => true,
        });
    }

    /// Is there nothing that any controller could do, hear or wait for but time?
    pub fn at_rest(&self) -> bool {
        let idle = |controller: &Controller| {
            let mut ips = controller.facts().ip_names();
            !controller.state.inventory_due && ips.all(|ip| controller.next_step(ip).is_none())
        };
        self.controllers
            .iter()
            .enumerate()
            .all(|(which, controller)| {
                controller.pending.is_empty()
                    && controller.requests.is_empty()
                    && controller.inventory().is_none()
                    && (!self.leads(which) || idle(controller))
            })
    }

    /// Time passes. What has been on its way for too long is lost.
    pub fn pass(&mut self, length: Millis) {
        for controller in &mut self.controllers {
            controller.change(|controller| controller.pass(length));
        }
        for (age, _) in &mut self.past {
            *age += length.0;
        }
        self.past.retain(|(age, _)| *age < LATENESS);
        let late = std::mem::take(&mut self.late);
        let older = late.into_iter().map(|mut late| {
            late.age += length.0;
            late
        });
        self.late = older.filter(|late| late.age < LATENESS).collect();
        let missing = self.past_of.missing_for + length.0 / 1000;
        self.past_of.missing_for = missing.min(PATIENCE);
    }

    /// Time passes until a controller has something to do.
    pub fn pass_until_due(&mut self) {
        for _ in 0..200 {
            let controllers = self.controllers.iter().enumerate();
            let next = controllers
                .filter(|(which, _)| self.leads(*which))
                .filter_map(|(_, controller)| controller.state.deadline)
                .min();
            let Some(next) = next else { return };
            let length = next.since(crate::world::clock::NOW).0.max(1000);
            self.pass(Millis(length));
            if !self.at_rest() {
                return;
            }
        }
    }
}
