//! A leader that EC2 has not answered for an inventory interval and 20 s releases the lease.
//! Rule: R6.15.

use std::time::Duration;

use mooring_plan::engine::{Completion, Effect, Event, Work};
use mooring_plan::lease::Leadership;
use mooring_plan::outcome::{Action, Outcome};

use crate::engine::Driven;
use crate::sim::{INTERVAL, SUBNET};

/// After this time without an answer the leader resigns.
const LIMIT: Duration = Duration::from_secs(INTERVAL.as_secs() + 20);

/// An inventory ends in this way. None: it succeeds.
fn inventory(driven: &mut Driven, outcome: Option<Outcome>) {
    let completion = Completion {
        called: vec![(Action::DescribeInterfaces, outcome)],
        ..Completion::default()
    };
    let completed = Event::Completed(Work::Inventory(SUBNET.into()), completion);
    driven.engine.handle(completed, driven.now);
}

/// How often the engine resigns if inventories end in this way every two seconds for this time.
fn resigned(
    driven: &mut Driven,
    time: Duration,
    outcome: impl Fn(u32) -> Option<Outcome>,
) -> usize {
    let (mut times, until) = (0, driven.now.plus(time));
    let mut number = 0;
    while driven.now < until {
        inventory(driven, outcome(number));
        let effects = driven.effects().into_iter();
        times += effects.filter(|effect| *effect == Effect::Resign).count();
        driven.now = driven.now.plus(Duration::from_secs(2));
        number += 1;
    }
    times
}

#[test]
fn a_leader_without_an_answer_of_ec2_resigns_after_each_such_time() {
    for outcome in [Outcome::Unknown, Outcome::Unauthenticated] {
        let mut driven = Driven::leading(0);
        let silent = |_| Some(outcome);
        for _ in 0..3 {
            assert_eq!(resigned(&mut driven, LIMIT, silent), 0);
            assert_eq!(resigned(&mut driven, Duration::from_secs(2), silent), 1);
        }
    }
}

#[test]
fn a_leader_that_ec2_answers_now_and_then_stays() {
    let silence = [Outcome::Unknown, Outcome::Unauthenticated];
    let answers = Outcome::ALL.iter().copied();
    let answers = answers.filter(|outcome| !silence.contains(outcome));
    for answer in answers.map(Some).chain([None]) {
        let mut driven = Driven::leading(0);
        let outcome = |number| match number % 20 {
            19 => answer,
            _ => Some(Outcome::Unknown),
        };
        let times = resigned(&mut driven, Duration::from_mins(10), outcome);
        assert_eq!(times, 0, "{answer:?}");
    }
}

#[test]
fn a_failure_now_and_a_failure_much_later_prove_nothing() {
    let mut driven = Driven::leading(0);
    for _ in 0..10 {
        inventory(&mut driven, Some(Outcome::Unknown));
        assert!(!driven.effects().contains(&Effect::Resign));
        driven.now = driven.now.plus(LIMIT);
    }
}

#[test]
fn the_time_counts_from_the_begin_of_the_lead() {
    let mut driven = Driven::leading(0);
    let silent = |_| Some(Outcome::Unknown);
    assert_eq!(resigned(&mut driven, Duration::from_secs(50), silent), 0);
    driven.lead(Leadership::default());
    assert_eq!(resigned(&mut driven, Duration::from_mins(5), silent), 0);
    driven.lead(Leadership::ALWAYS);
    assert_eq!(resigned(&mut driven, LIMIT, silent), 0);
    assert_eq!(resigned(&mut driven, Duration::from_secs(2), silent), 1);
}

/// At rest a leader with a long interval asks EC2 rarely, but goes on to ask for a subnet whose inventory fails.
#[test]
fn a_leader_with_one_subnet_that_fails_stays() {
    let hours = Duration::from_hours(1);
    let mut driven = Driven::with_interval(Duration::from_mins(5));
    let other_subnet = |number: u32| (number % 150 != 149).then_some(Outcome::Unknown);
    assert_eq!(resigned(&mut driven, hours, other_subnet), 0);
    let silent = |_| Some(Outcome::Unknown);
    assert_eq!(resigned(&mut driven, Duration::from_secs(320), silent), 0);
    assert_eq!(resigned(&mut driven, Duration::from_secs(2), silent), 1);
}
