//! At most one replica leads, with any clocks, and also if one of them sleeps for any time.
//! Rules: R5.1, R6.1, R6.2, R6.15.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod alone;
mod resign;
mod watched;

use std::time::Duration;

use mooring_plan::lease::{Election, Identity, LeaseAnswer, LeaseStep, Record, Spec, Timings};
use mooring_plan::names::ResourceVersion;
use mooring_plan::time::Instant;
use proptest::prelude::*;

const TIMINGS: Timings = Timings {
    duration: Duration::from_secs(15),
    renew_deadline: Duration::from_secs(10),
    retry_period: Duration::from_secs(2),
};

#[test]
fn an_election_needs_times_that_increase() {
    assert!(TIMINGS.are_valid());
    let changed = |change: fn(&mut Timings)| {
        let mut timings = TIMINGS;
        change(&mut timings);
        timings.are_valid()
    };
    assert!(!changed(|it| it.retry_period = Duration::ZERO));
    assert!(!changed(|it| it.retry_period = it.renew_deadline));
    assert!(!changed(|it| it.renew_deadline = it.duration));
}

/// The `Lease`, with the compare-and-swap of the API server.
#[derive(Default)]
struct Server {
    lease: Option<Record>,
    /// All versions that a watch shows.
    history: Vec<Record>,
    version: u64,
    writes: u64,
}

impl Server {
    fn carry_out(&mut self, step: &LeaseStep) -> LeaseAnswer {
        match step {
            LeaseStep::Read => LeaseAnswer::Read(self.lease.clone()),
            LeaseStep::Create(spec) if self.lease.is_none() => self.write(spec),
            LeaseStep::Update(version, spec)
                if self.lease.as_ref().map(|lease| lease.version) == Some(*version) =>
            {
                self.write(spec)
            }
            LeaseStep::Create(_) | LeaseStep::Update(..) => LeaseAnswer::Conflict,
            LeaseStep::Wait(_) => panic!("waiting is no request"),
        }
    }

    fn write(&mut self, spec: &Spec) -> LeaseAnswer {
        self.version += 1;
        self.writes += 1;
        let record = Record {
            version: ResourceVersion(self.version),
            holder: spec.holder.clone(),
            duration: Some(Duration::from_secs(spec.seconds)),
            // The wall clock stands still: this value only makes writes different.
            renewed: self.version.to_string(),
            transitions: spec.transitions,
        };
        self.lease = Some(record.clone());
        self.history.push(record.clone());
        LeaseAnswer::Wrote(record)
    }
}

/// A replica that can lead, and has not read the `Lease`.
fn candidate(name: &str, timings: Timings) -> Election {
    let mut election = Election::new(Identity::from(name), timings);
    election.take_part();
    election
}

/// A replica whose monotonic clock began at any time.
struct Replica {
    election: Election,
    began: u64,
    asleep_until: u64,
}

impl Replica {
    fn new(name: &str, began: u64) -> Self {
        Self {
            election: candidate(name, TIMINGS),
            began,
            asleep_until: 0,
        }
    }

    fn clock(&self, real: u64) -> Instant {
        Instant::from_millis(real + self.began)
    }

    /// One step without duration.
    fn turn(&mut self, server: &mut Server, real: u64) {
        let now = self.clock(real);
        let step = self.election.step(now);
        if !matches!(step, LeaseStep::Wait(_)) {
            let answer = server.carry_out(&step);
            self.election.apply(answer, now, now);
        }
    }

    /// The step that releases the lease when the process ends.
    fn release(&self, real: u64) -> LeaseStep {
        let mut election = self.election.clone();
        election.leave();
        election.step(self.clock(real))
    }

    fn leads(&self, real: u64) -> bool {
        self.election.leads(self.clock(real))
    }

    fn may_call(&self, real: u64) -> bool {
        self.leads(real)
            && self
                .election
                .calls_until()
                .is_some_and(|until| self.clock(real) < until)
    }
}

fn run(replicas: &mut [Replica], server: &mut Server, from: u64, to: u64) {
    for real in (from..to).step_by(100) {
        for replica in &mut *replicas {
            if replica.asleep_until <= real {
                replica.turn(server, real);
            }
        }
        assert!(
            replicas
                .iter()
                .filter(|replica| replica.leads(real))
                .count()
                <= 1,
            "two lead at {real}"
        );
    }
}

#[test]
fn the_first_replica_leads_within_one_round_and_the_other_waits() {
    let mut server = Server::default();
    let mut replicas = [Replica::new("a", 0), Replica::new("b", 1_000_000)];
    run(&mut replicas, &mut server, 0, 60_000);
    assert!(replicas[0].leads(60_000));
    assert!(!replicas[1].leads(60_000));
    assert_eq!(replicas[1].election.holder(), Some(&Identity::from("a")));
}

#[test]
fn the_other_leads_after_a_lease_duration_without_a_renewal() {
    let mut server = Server::default();
    let mut replicas = [Replica::new("a", 0), Replica::new("b", 77)];
    run(&mut replicas, &mut server, 0, 30_000);
    replicas[0].asleep_until = u64::MAX;
    run(&mut replicas, &mut server, 30_000, 43_000);
    assert!(!replicas[1].leads(43_000), "the lease has not expired yet");
    run(&mut replicas, &mut server, 43_000, 50_000);
    assert!(replicas[1].leads(50_000));
    assert_eq!(server.lease.unwrap().transitions, 1);
}

#[test]
fn a_leader_that_resumes_after_its_deadline_does_not_lead_before_any_read() {
    let mut server = Server::default();
    let mut replicas = [Replica::new("a", 0), Replica::new("b", 0)];
    run(&mut replicas, &mut server, 0, 30_000);
    replicas[0].asleep_until = 60_000;
    run(&mut replicas, &mut server, 30_000, 60_000);
    assert!(
        !replicas[0].leads(60_000),
        "its renewal is thirty seconds old"
    );
    run(&mut replicas, &mut server, 60_000, 90_000);
    assert!(replicas[1].leads(90_000));
}

#[test]
fn a_leader_that_cannot_write_stops_at_its_deadline() {
    let mut election = candidate("a", TIMINGS);
    let mut server = Server::default();
    let answer = server.carry_out(&election.step(Instant::START));
    election.apply(answer, Instant::START, Instant::START);
    let answer = server.carry_out(&election.step(Instant::START));
    election.apply(answer, Instant::START, Instant::from_millis(400));
    assert!(election.leads(Instant::from_millis(9_999)));
    for second in 2..=12 {
        let now = Instant::from_secs(second);
        if !matches!(election.step(now), LeaseStep::Wait(_)) {
            election.apply(LeaseAnswer::Failed, now, now);
        }
    }
    assert!(
        !election.leads(Instant::from_secs(10)),
        "counted from when the renewal was begun, not answered"
    );
}

#[test]
fn no_call_starts_in_the_last_five_seconds_of_the_lease() {
    let long = Timings {
        renew_deadline: Duration::from_secs(14),
        ..TIMINGS
    };
    for (timings, last) in [(TIMINGS, 10_000), (long, 10_000)] {
        let mut election = candidate("a", timings);
        let mut server = Server::default();
        for _ in 0..2 {
            let answer = server.carry_out(&election.step(Instant::START));
            election.apply(answer, Instant::START, Instant::START);
        }
        assert_eq!(election.calls_until(), Some(Instant::from_millis(last)));
    }
}

#[test]
fn a_released_lease_is_taken_at_the_next_poll() {
    let mut server = Server::default();
    let mut replicas = [Replica::new("a", 0), Replica::new("b", 0)];
    run(&mut replicas, &mut server, 0, 20_000);
    let release = replicas[0].release(20_000);
    assert!(matches!(server.carry_out(&release), LeaseAnswer::Wrote(_)));
    replicas[0].asleep_until = u64::MAX;
    // The election of the first replica gets no answer, because its process ends. Only the other replica continues.
    let (_, rest) = replicas.split_at_mut(1);
    run(rest, &mut server, 20_000, 22_100);
    assert!(replicas[1].leads(22_100));
}

#[test]
fn a_label_on_the_lease_is_no_renewal() {
    let mut server = Server::default();
    let mut replicas = [Replica::new("a", 0), Replica::new("b", 0)];
    run(&mut replicas, &mut server, 0, 20_000);
    replicas[0].asleep_until = u64::MAX;
    for second in 20..40 {
        run(
            &mut replicas[1..],
            &mut server,
            second * 1000,
            (second + 1) * 1000,
        );
        if !replicas[1].leads(second * 1000) {
            server.version += 1;
            server.lease.as_mut().unwrap().version = ResourceVersion(server.version);
        }
    }
    assert!(replicas[1].leads(40_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Sleeps, lost answers, leaders that resign, watches that stop or lag, and clocks with any start.
    #[test]
    fn leaders_never_overlap_and_calls_of_one_end_before_the_other_leads(
        began in proptest::array::uniform3(0u64..1_000_000_000),
        late in proptest::array::uniform3(proptest::option::of(0usize..4)),
        events in proptest::collection::vec((0usize..3, 0u8..4, 0u64..40_000), 1..40),
    ) {
        let mut server = Server::default();
        let mut replicas: Vec<_> =
            ["a", "b", "c"].iter().zip(began).map(|(name, began)| Replica::new(name, began)).collect();
        let mut lossy = [0u64; 3];
        let mut real = 0;
        // For each replica, the last time at which one of its calls can still be in flight.
        let mut calling_until = [0u64; 3];
        for (who, what, length) in events {
            match what {
                0 => replicas[who].asleep_until = real + length,
                1 => lossy[who] = real + length,
                2 => {
                    let now = replicas[who].clock(real);
                    replicas[who].election.resign(now);
                }
                _ => {}
            }
            let end = real + length.max(1_000);
            while real < end {
                for index in 0..replicas.len() {
                    let replica = &mut replicas[index];
                    if replica.asleep_until > real {
                        continue;
                    }
                    let now = replica.clock(real);
                    if let Some(shown) = late[index].and_then(|late| server.history.iter().nth_back(late)) {
                        replica.election.observe(shown.clone(), now);
                    }
                    let step = replica.election.step(now);
                    if matches!(step, LeaseStep::Wait(_)) {
                        continue;
                    }
                    let answer = server.carry_out(&step);
                    let answer = if lossy[index] > real { LeaseAnswer::Failed } else { answer };
                    replica.election.apply(answer, now, now);
                    if replicas[index].may_call(real) {
                        calling_until[index] = real + 5_000;
                    }
                }
                let leading: Vec<_> = (0..replicas.len()).filter(|index| replicas[*index].leads(real)).collect();
                prop_assert!(leading.len() <= 1, "{:?} lead at {}", leading, real);
                for leader in leading {
                    for other in (0..replicas.len()).filter(|other| *other != leader) {
                        prop_assert!(calling_until[other] <= real, "a call of {} overlaps the lead of {}", other, leader);
                    }
                }
                real += 250;
            }
        }
    }
}
