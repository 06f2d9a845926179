//! One process: its state, the watch events that it has not received yet, and its requests in progress.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::cloud::Interface;
use mooring_plan::facts::{Fact, Facts, Kind, WriteOutcome, Written};
use mooring_plan::names::{IpName, IpUid, ResourceVersion};
use mooring_plan::objects::Ip;
use mooring_plan::step::{CallGroup, Step};
use mooring_world::kube::Kube;

use super::controller_state::{ControllerState, Input, Inventory};
use crate::shared::Shared;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Controller {
    /// Its facts and decisions.
    pub state: Shared<ControllerState>,
    /// Watch events that it has not received yet, in order for each kind.
    pub pending: BTreeMap<Kind, VecDeque<Fact>>,
    /// The request in progress for each IP.
    pub requests: BTreeMap<IpName, Request>,
    /// The maximum number of pending events of one watch.
    pub max_lag: usize,
}

/// A write or a call that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    pub sent: Sent,
    /// The answer, after the request was executed.
    pub answer: Option<Fact>,
}

/// The step that was sent, and the version of the IP that it was decided from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sent {
    pub ip: IpName,
    pub uid: IpUid,
    pub version: ResourceVersion,
    pub step: Step,
    /// The calls of other IPs that go in the same request.
    pub with: Vec<Sent>,
}

impl Sent {
    /// This step, and the steps in the same request.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.with)
    }

    /// The IP and the address of each call in the request.
    pub fn members(&self) -> Vec<(IpName, Address)> {
        let members = self.all().filter_map(|sent| match &sent.step {
            Step::Call(call) => Some((sent.ip.clone(), call.address())),
            Step::Read(_) | Step::Write(_) => None,
        });
        members.collect()
    }
}

impl Controller {
    /// A process that has just listed all objects.
    pub fn started(kube: &Kube, limit: u32, max_lag: usize, leads: bool) -> Self {
        Self {
            state: ControllerState::listed(kube, limit, leads),
            pending: BTreeMap::new(),
            requests: BTreeMap::new(),
            max_lag,
        }
    }

    pub fn facts(&self) -> &Facts {
        self.state.facts()
    }

    /// Time passes for this process.
    pub fn pass(&mut self, elapsed: Duration) {
        self.state = self.state.after(&Input::TimePassed(elapsed));
    }

    /// From now on no moment is older than this number of seconds.
    pub fn limit_ages(&mut self, max_age: u64) {
        self.state = self.state.after(&Input::AgesLimited(max_age));
    }

    /// The process leads from now on, or it does not lead any more.
    pub fn lead(&mut self, leads: bool) {
        self.state = self.state.after(&Input::Leadership(leads));
        self.drop_known_events();
    }

    fn apply(&mut self, fact: Fact) {
        self.state = self.state.after(&Input::Event(fact));
        self.drop_known_events();
    }

    fn complete(&mut self, ip: &IpName, fact: Fact) {
        self.state = self.state.after(&Input::StepEnded(ip.clone(), fact));
        self.drop_known_events();
    }

    /// A request has ended with this answer.
    fn end(&mut self, sent: &Sent, fact: Fact) {
        match (&sent.step, fact) {
            (Step::Call(call), Fact::Called { result, .. }) if !sent.with.is_empty() => {
                let ended = Input::RequestEnded(call.group(), sent.members(), result);
                self.state = self.state.after(&ended);
                self.drop_known_events();
            }
            (_, fact) => self.complete(&sent.ip, fact),
        }
    }

    /// Is a request for this IP in progress?
    pub fn is_busy(&self, ip: &IpName) -> bool {
        let mut sent = self
            .requests
            .values()
            .flat_map(|request| request.sent.all());
        sent.any(|sent| sent.ip == *ip)
    }

    /// The groups of calls that several IPs are about to make.
    pub fn groups(&self) -> BTreeSet<CallGroup> {
        let (mut once, mut twice) = (BTreeSet::new(), BTreeSet::new());
        for ip in self.facts().ip_names() {
            if let Some(Step::Call(call)) = self.next_step(ip)
                && !once.insert(call.group())
            {
                twice.insert(call.group());
            }
        }
        twice
    }

    /// Sends the next request of a group: each of its calls, and the IP that it was decided from.
    pub fn send_together(&mut self, group: &CallGroup) -> Vec<(Ip, Sent)> {
        let before = self.clone();
        self.state = self.state.after(&Input::RequestBegun(group.clone()));
        let mut sent = Vec::new();
        for name in before.facts().ip_names() {
            if let Some(step @ Step::Call(_)) = before.next_step(name)
                && let Some(ip) = before.facts().ip(name)
                && self.state.is_in_flight(name)
            {
                let (uid, version) = (ip.uid.clone(), ip.version);
                let call = Sent {
                    ip: name.clone(),
                    uid,
                    version,
                    step: step.clone(),
                    with: Vec::new(),
                };
                sent.push((ip.clone(), call));
            }
        }
        let mut calls = sent.iter().map(|(_, call)| call.clone());
        if let Some(mut first) = calls.next() {
            first.with = calls.collect();
            let request = Request {
                sent: first,
                answer: None,
            };
            self.requests.insert(request.sent.ip.clone(), request);
        }
        sent
    }

    /// Adds an event of a watch to the pending events. If there are more than `max_lag`, the oldest are
    /// received at once.
    pub fn enqueue(&mut self, kind: Kind, fact: Fact) {
        self.pending.entry(kind).or_default().push_back(fact);
        let max_lag = self.max_lag;
        while self
            .pending
            .get(&kind)
            .is_some_and(|events| events.len() > max_lag)
        {
            self.receive(kind);
        }
    }

    /// Receives the next event of a watch.
    pub fn receive(&mut self, kind: Kind) {
        let Some(events) = self.pending.get_mut(&kind) else {
            return;
        };
        let fact = events.pop_front();
        if events.is_empty() {
            self.pending.remove(&kind);
        }
        if let Some(fact) = fact {
            self.apply(fact);
        }
    }

    /// Receives all pending events.
    pub fn receive_all(&mut self) {
        while let Some(kind) = self.pending.keys().next().copied() {
            self.receive(kind);
        }
    }

    /// Drops pending events that change nothing, because the facts contain them already. They need no
    /// transition.
    fn drop_known_events(&mut self) {
        let state = &self.state;
        let known = |fact: &Fact| {
            if let Fact::Ip(ip) = fact {
                let ours = state.facts().ip(&ip.name);
                return ours.is_some_and(|ours| ours.uid == ip.uid && ours.version >= ip.version);
            }
            state.after(&Input::EventWithoutDelay(fact.clone())) == *state
        };
        self.pending.retain(|_, events| {
            while events.front().is_some_and(known) {
                events.pop_front();
            }
            !events.is_empty()
        });
    }

    /// The next step for an IP; none while a request for the IP is in progress.
    pub fn next_step(&self, ip: &IpName) -> Option<&Step> {
        if self.is_busy(ip) {
            return None;
        }
        self.state.decision(ip)?.step.as_ref()
    }

    /// Is the next event of this watch the result of an own write whose answer is not received yet? The
    /// answer contains the same object, so the order of the two makes no difference.
    pub fn answer_follows(&self, kind: Kind) -> bool {
        let Some(next) = self.pending.get(&kind).and_then(VecDeque::front) else {
            return false;
        };
        self.requests
            .values()
            .any(|request| match (&request.answer, next) {
                (
                    Some(Fact::Wrote {
                        outcome: WriteOutcome::Done(Some(written)),
                        ..
                    }),
                    next,
                ) => match (written, next) {
                    (Written::Ip(ours), Fact::Ip(theirs)) => ours == theirs,
                    (Written::Pod(ours), Fact::Pod(theirs)) => ours == theirs,
                    (Written::Reservation(ours), Fact::Reservation(theirs)) => ours == theirs,
                    _ => false,
                },
                _ => false,
            })
    }

    /// A read is answered at once. An event before the answer can also be explored after the answer,
    /// because there is no decision in between.
    pub fn read(&mut self, ip: &IpName, fact: Fact) {
        self.state = self.state.after(&Input::StepStarted(ip.clone()));
        self.complete(ip, fact);
    }

    /// Sends a write or a call.
    pub fn send(&mut self, sent: Sent) {
        self.state = self.state.after(&Input::StepStarted(sent.ip.clone()));
        let request = Request { sent, answer: None };
        self.requests.insert(request.sent.ip.clone(), request);
    }

    /// Receives the answer of the request in progress.
    pub fn answer(&mut self, ip: &IpName) {
        let request = self.requests.remove(ip);
        if let Some((sent, answer)) =
            request.and_then(|request| Some((request.sent, request.answer?)))
        {
            self.end(&sent, answer);
        }
    }

    /// Ends the request in progress without an answer: its result is unknown.
    pub fn time_out(&mut self, ip: &IpName, unknown: Fact) -> Option<Request> {
        let request = self.requests.remove(ip)?;
        self.end(&request.sent, unknown);
        Some(request)
    }

    /// Takes an inventory with this result.
    pub fn take_inventory(&mut self, list: Vec<Interface>, outdated: bool) {
        self.state = self.state.after(&Input::InventoryTaken(list, outdated));
    }

    /// The inventory in progress.
    pub fn inventory(&self) -> Option<&Inventory> {
        self.state.inventory.as_ref()
    }

    /// Receives the inventory. Was it outdated?
    pub fn receive_inventory(&mut self) -> bool {
        let outdated = self.inventory().is_none_or(|inventory| inventory.outdated);
        self.state = self.state.after(&Input::InventoryReceived);
        self.drop_known_events();
        outdated
    }
}
