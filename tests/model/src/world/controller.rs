//! One process: what it knows, what its watches have not told it yet, and what it has under way.

use std::collections::{BTreeMap, VecDeque};

use mooring_plan::cloud::Interface;
use mooring_plan::facts::{Fact, Facts, Kind, WriteOutcome, Written};
use mooring_plan::names::{IpName, IpUid, Millis, ResourceVersion};
use mooring_plan::step::Step;

use super::kube::Kube;
use super::mind::{Lesson, Look, Mind};
use crate::shared::Shared;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Controller {
    /// What it knows.
    pub mind: Shared<Mind>,
    /// What its watches still have for it, each kind in order.
    pub news: BTreeMap<Kind, VecDeque<Fact>>,
    /// The step under way for each IP.
    pub flights: BTreeMap<IpName, Flight>,
    /// A watch is at most so many events behind.
    pub behind: usize,
}

/// A write or a call that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flight {
    pub sent: Sent,
    /// The answer, once it was executed.
    pub answer: Option<Fact>,
}

/// What was sent, and what it was decided from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sent {
    pub ip: IpName,
    pub uid: IpUid,
    pub version: ResourceVersion,
    pub step: Step,
}

impl Controller {
    /// A process that has just listed everything.
    pub fn started(kube: &Kube, behind: usize, leads: bool) -> Self {
        Self {
            mind: Mind::listed(kube, leads),
            news: BTreeMap::new(),
            flights: BTreeMap::new(),
            behind,
        }
    }

    pub fn facts(&self) -> &Facts {
        self.mind.facts()
    }

    /// Time passes for it.
    pub fn pass(&mut self, elapsed: Millis) {
        self.mind = self.mind.after(&Lesson::Pass(elapsed));
    }

    /// It leads from now on, or no longer.
    pub fn lead(&mut self, leads: bool) {
        self.mind = self.mind.after(&Lesson::Lead(leads));
        self.skip_old_news();
    }

    fn tell(&mut self, fact: Fact) {
        self.mind = self.mind.after(&Lesson::Told(fact));
        self.skip_old_news();
    }

    fn end(&mut self, ip: &IpName, fact: Fact) {
        self.mind = self.mind.after(&Lesson::Ended(ip.clone(), fact));
        self.skip_old_news();
    }

    /// A watch has something for it. What would leave it too far behind it is told at once.
    pub fn hear_of(&mut self, kind: Kind, fact: Fact) {
        self.news.entry(kind).or_default().push_back(fact);
        let behind = self.behind;
        while self.news.get(&kind).is_some_and(|news| news.len() > behind) {
            self.hear(kind);
        }
    }

    /// The next event of a watch.
    pub fn hear(&mut self, kind: Kind) {
        let Some(news) = self.news.get_mut(&kind) else {
            return;
        };
        let fact = news.pop_front();
        if news.is_empty() {
            self.news.remove(&kind);
        }
        if let Some(fact) = fact {
            self.tell(fact);
        }
    }

    /// Everything that watches have.
    pub fn hear_all(&mut self) {
        while let Some(kind) = self.news.keys().next().copied() {
            self.hear(kind);
        }
    }

    /// An event that says what is known changes nothing, now or later: it needs no transition.
    fn skip_old_news(&mut self) {
        let mind = &self.mind;
        let known = |fact: &Fact| {
            if let Fact::Ip(ip) = fact {
                let ours = mind.facts().ip(&ip.name);
                return ours.is_some_and(|ours| ours.uid == ip.uid && ours.version >= ip.version);
            }
            mind.after(&Lesson::Known(fact.clone())) == *mind
        };
        self.news.retain(|_, news| {
            while news.front().is_some_and(known) {
                news.pop_front();
            }
            !news.is_empty()
        });
    }

    /// What it would do next for an IP, unless something is under way for it.
    pub fn next_step(&self, ip: &IpName) -> Option<&Step> {
        if self.flights.contains_key(ip) {
            return None;
        }
        self.mind.decision(ip)?.step.as_ref()
    }

    /// Is the next event of this watch what a write of its own left, whose answer is on its way? The
    /// answer says the same, so that it makes no difference which of the two comes first.
    pub fn awaits(&self, kind: Kind) -> bool {
        let Some(next) = self.news.get(&kind).and_then(VecDeque::front) else {
            return false;
        };
        self.flights
            .values()
            .any(|flight| match (&flight.answer, next) {
                (Some(Fact::Wrote(_, _, WriteOutcome::Done(Some(written)))), next) => {
                    match (written, next) {
                        (Written::Ip(ours), Fact::Ip(theirs)) => ours == theirs,
                        (Written::Pod(ours), Fact::Pod(theirs)) => ours == theirs,
                        (Written::Reservation(ours), Fact::Reservation(theirs)) => ours == theirs,
                        _ => false,
                    }
                }
                _ => false,
            })
    }

    /// A read is answered at once: what could happen before its answer can happen after it as well,
    /// since nothing is decided in between.
    pub fn read(&mut self, ip: &IpName, fact: Fact) {
        self.mind = self.mind.after(&Lesson::Begin(ip.clone()));
        self.end(ip, fact);
    }

    /// A write or a call leaves for its way.
    pub fn send(&mut self, sent: Sent) {
        self.mind = self.mind.after(&Lesson::Begin(sent.ip.clone()));
        let flight = Flight { sent, answer: None };
        self.flights.insert(flight.sent.ip.clone(), flight);
    }

    /// The answer of what is under way.
    pub fn answer(&mut self, ip: &IpName) {
        let flight = self.flights.remove(ip);
        if let Some(answer) = flight.and_then(|flight| flight.answer) {
            self.end(ip, answer);
        }
    }

    /// Instead of an answer, that nothing is known of it.
    pub fn lose(&mut self, ip: &IpName, unknown: Fact) -> Option<Flight> {
        let flight = self.flights.remove(ip);
        self.end(ip, unknown);
        flight
    }

    /// An inventory is taken, and shows this.
    pub fn look(&mut self, list: Vec<Interface>, blind: bool) {
        self.mind = self.mind.after(&Lesson::Look(list, blind));
    }

    /// The inventory under way.
    pub fn looking(&self) -> Option<&Look> {
        self.mind.look.as_ref()
    }

    /// What the inventory showed. Was it blind?
    pub fn looked(&mut self) -> bool {
        let blind = self.looking().is_none_or(|look| look.blind);
        self.mind = self.mind.after(&Lesson::Looked);
        self.skip_old_news();
        blind
    }
}
