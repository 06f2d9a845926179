//! The engine begins steps in time, once, and only while this process leads.
//! Rules: R1.3, R5.1, R6.2, R6.12.

use std::collections::BTreeSet;
use std::time::Duration;

use mooring_plan::engine::{Completion, Effect, Engine, Event, Pacing, Reconciled, Work};
use mooring_plan::facts::{Fact, Kind, Settings};
use mooring_plan::lease::Leadership;
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::{Ip, UnreadableIp, UnreadableReport};
use mooring_plan::step::{Read, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::{INTERVAL, Sim};

/// An engine, and the current time.
pub struct Driven {
    pub engine: Engine,
    pub now: Instant,
}

pub fn name(number: usize) -> IpName {
    IpName::from(format!("ip-{number:03}").as_str())
}

impl Driven {
    /// An engine that leads, after all kinds were listed.
    pub fn leading(ips: usize) -> Self {
        let mut driven = Self::knowing(ips);
        driven.begin_to_lead();
        driven
    }

    /// As [`Self::leading`], without IPs and with another inventory interval.
    pub fn with_interval(inventory_interval: Duration) -> Self {
        let mut driven = Self::of(Settings { inventory_interval });
        driven.begin_to_lead();
        driven
    }

    fn of(settings: Settings) -> Self {
        Self {
            engine: Engine::new(settings, Pacing::On),
            now: Instant::from_secs(1000),
        }
    }

    fn begin_to_lead(&mut self) {
        self.synced();
        self.lead(Leadership::ALWAYS);
        // The list of all IPs is empty, so each IP is read alone.
        self.listed(Vec::new());
    }

    pub fn knowing(ips: usize) -> Self {
        let mut driven = Self::of(Settings {
            inventory_interval: INTERVAL,
        });
        let mut sim = Sim::new();
        for number in 0..ips {
            sim.ip(name(number).as_str(), &format!("203.0.113.{}", number + 10));
        }
        for ip in sim.kube.ips.values() {
            driven.fact(Fact::Ip(ip.clone()));
        }
        driven
    }

    pub fn synced(&mut self) {
        for kind in Kind::ALL {
            self.fact(Fact::Synced(kind));
        }
    }

    pub fn lead(&mut self, leadership: Leadership) {
        self.engine.handle(Event::Leadership(leadership), self.now);
    }

    pub fn fact(&mut self, fact: Fact) {
        self.engine.handle(Event::Fact(fact), self.now);
    }

    /// The list of all IPs is answered.
    pub fn listed(&mut self, ips: Vec<Ip>) {
        let completed = Event::Completed(Work::Ips, Fact::IpsRead(ips).into());
        self.engine.handle(completed, self.now);
    }

    /// All effects that begin now.
    pub fn effects(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        while let Some(effect) = self.engine.poll(self.now) {
            effects.push(effect);
            assert!(effects.len() < 10_000, "more and more at once");
        }
        effects
    }

    /// The IPs whose steps begin now.
    pub fn begun(&mut self) -> Vec<IpName> {
        let mut begun = Vec::new();
        for effect in self.effects() {
            if let Effect::Read(ip, _) | Effect::Write { ip, .. } = effect {
                begun.push(ip);
            }
        }
        begun
    }

    /// The first write of an IP that begins now.
    pub fn write(&mut self) -> Option<Write> {
        let mut effects = self.effects().into_iter();
        effects.find_map(|effect| match effect {
            Effect::Write { write, .. } => Some(write),
            _ => None,
        })
    }

    /// Fails the read of an IP.
    pub fn read_fails(&mut self, ip: &IpName) {
        let failed = Fact::ReadFailed {
            ip: ip.clone(),
            read: Read::Ip(ip.clone()),
            outcome: None,
        };
        self.completed(ip, failed);
    }

    pub fn completed(&mut self, ip: &IpName, fact: Fact) {
        let completed = Event::Completed(Work::Ip(ip.clone()), Completion::from(fact));
        self.engine.handle(completed, self.now);
    }
}

#[test]
fn nothing_starts_before_every_kind_is_listed() {
    let mut driven = Driven::knowing(1);
    driven.lead(Leadership::ALWAYS);
    for kind in Kind::ALL {
        assert_eq!(driven.begun(), []);
        driven.fact(Fact::Synced(kind));
    }
    assert_eq!(driven.begun(), [name(0)]);
}

#[test]
fn nothing_starts_without_the_lease_or_after_its_end() {
    let mut driven = Driven::knowing(1);
    driven.synced();
    assert_eq!(driven.begun(), []);
    let until = driven.now.plus(Duration::from_secs(10));
    let leadership = Leadership {
        until: Some(until),
        calls_until: Some(until),
    };
    driven.lead(leadership);
    assert!(driven.engine.wake_at(driven.now) <= until);
    driven.now = until;
    assert_eq!(driven.begun(), []);
    assert!(!driven.engine.leading());
}

#[test]
fn no_call_starts_if_the_lease_can_end_before_it() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    let (ip, call) = loop {
        match sim.in_hand(0) {
            Some((ip, Step::Call(call))) => break (ip, call),
            Some((ip, step)) => sim.carry_out(0, &ip, &step),
            None => sim.wait(Duration::from_millis(1)),
        }
    };
    let engine = &mut sim.controllers[0].engine;
    let short = Leadership {
        until: Some(Instant::NEVER),
        calls_until: Some(sim.now),
    };
    engine.handle(Event::Leadership(short), sim.now);
    let later = engine.reconcile(&ip, sim.now);
    assert!(matches!(later, Reconciled::Later(_)), "{later:?}");
    engine.handle(Event::Leadership(Leadership::ALWAYS), sim.now);
    let begun = engine.reconcile(&ip, sim.now);
    let members = vec![(ip, call.address())];
    assert_eq!(
        begun,
        Reconciled::Begun(Effect::Calls(call.group(), members))
    );
}

#[test]
fn each_ip_has_at_most_one_step_in_flight() {
    let mut driven = Driven::leading(2);
    assert_eq!(driven.begun(), [name(0), name(1)]);
    let known = driven.engine.facts().ip(&name(0)).cloned().unwrap();
    let newer = ResourceVersion(known.version.0 + 1);
    driven.fact(Fact::Ip(Ip {
        version: newer,
        ..known
    }));
    driven.now = driven.now.plus(Duration::from_mins(1));
    assert_eq!(driven.begun(), []);
    driven.read_fails(&name(0));
    driven.now = driven.now.plus(Duration::from_mins(1));
    assert_eq!(driven.begun(), [name(0)]);
}

#[test]
fn a_failed_step_is_repeated_when_its_timer_fires() {
    let mut driven = Driven::leading(1);
    assert_eq!(driven.begun(), [name(0)]);
    driven.read_fails(&name(0));
    assert_eq!(driven.begun(), []);
    let latest = driven.now.plus(Duration::from_secs(10));
    let mut begun = Vec::new();
    while begun.is_empty() {
        let wake = driven.engine.wake_at(driven.now);
        assert!(driven.now < wake && wake <= latest);
        driven.now = wake;
        begun = driven.begun();
    }
    assert_eq!(begun, [name(0)]);
}

#[test]
fn an_unexpected_completion_changes_nothing() {
    let mut driven = Driven::leading(1);
    let before = driven.engine.clone();
    driven.completed(&name(0), Fact::IpRead(name(0), None));
    assert_eq!(driven.engine, before);
    assert_eq!(driven.begun(), [name(0)]);
    driven.read_fails(&name(0));
    let before = driven.engine.clone();
    driven.completed(&name(0), Fact::IpRead(name(0), None));
    assert_eq!(driven.engine, before, "it has ended already");
}

#[test]
fn an_answer_after_the_deletion_of_an_ip_does_not_restore_it() {
    let mut driven = Driven::leading(1);
    let ip = driven.engine.facts().ip(&name(0)).cloned().unwrap();
    assert_eq!(driven.begun(), [name(0)]);
    driven.fact(Fact::IpGone(ip.name.clone(), ip.uid.clone()));
    driven.completed(&name(0), Fact::IpRead(name(0), Some(ip)));
    assert!(!driven.engine.facts().knows(&name(0)));
    driven.now = driven.now.plus(Duration::from_mins(1));
    assert_eq!(driven.begun(), []);
}

#[test]
fn a_report_that_is_answered_after_the_deletion_of_an_ip_does_not_hide_its_successor() {
    let mut driven = Driven::leading(1);
    let ip = driven.engine.facts().ip(&name(0)).cloned().unwrap();
    let unreadable = Fact::IpUnreadable(UnreadableIp {
        name: name(0),
        uid: ip.uid.clone(),
        version: ResourceVersion(ip.version.0 + 1),
        problem: "it is garbage".to_owned(),
        report: UnreadableReport::Nothing,
    });
    driven.fact(unreadable.clone());
    assert!(matches!(
        driven.write(),
        Some(Write::ReportUnreadable { .. })
    ));
    // A user removes the finalizer.
    driven.fact(Fact::IpGone(ip.name.clone(), ip.uid.clone()));
    driven.completed(&name(0), unreadable);
    assert!(!driven.engine.facts().knows(&name(0)));
    driven.fact(Fact::Ip(Ip {
        uid: "successor".into(),
        version: ResourceVersion(ip.version.0 + 2),
        ..ip
    }));
    driven.now = driven.now.plus(Duration::from_secs(2));
    assert!(matches!(driven.write(), Some(Write::AddFinalizer { .. })));
}

#[test]
fn at_most_56_ips_have_a_read_or_write_in_flight_and_all_make_progress() {
    let mut driven = Driven::leading(100);
    let mut begun: BTreeSet<IpName> = driven.begun().into_iter().collect();
    assert_eq!(begun.len(), 56);
    for ip in begun.clone() {
        driven.read_fails(&ip);
        let next = driven.begun();
        assert!(next.len() <= 1, "{next:?}");
        begun.extend(next);
    }
    assert_eq!(begun.len(), 100);
}

#[test]
fn a_step_that_repeats_immediately_is_delayed() {
    let mut driven = Driven::leading(1);
    let (begin, mut steps) = (driven.now, 0);
    while driven.now < begin.plus(Duration::from_mins(1)) {
        for name in driven.begun() {
            steps += 1;
            driven.now = driven.now.plus(Duration::from_millis(1));
            // The fact changes nothing, so the same step follows.
            driven.completed(&name, Fact::NodeGone("nowhere".into(), String::new()));
        }
        driven.now = driven.now.plus(Duration::from_millis(1));
    }
    assert!((60..=90).contains(&steps), "{steps} in a minute");
}

#[test]
fn the_memory_of_an_ip_is_removed_with_it() {
    let mut driven = Driven::leading(1);
    let ip = driven.engine.facts().ip(&name(0)).cloned().unwrap();
    driven.begun();
    driven.read_fails(&name(0));
    driven.fact(Fact::IpGone(ip.name.clone(), ip.uid));
    driven.begun();
    // Repetitions of its last step would still be noticed for some seconds.
    driven.now = driven.now.plus(Duration::from_secs(5));
    driven.begun();
    let left = format!("{:?}", driven.engine);
    assert!(!left.contains(ip.name.as_str()), "{left}");
}
