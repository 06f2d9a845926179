//! The meaning of answers of EC2, and the rate limits of calls.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;

use mooring_plan::buckets::Buckets;
use mooring_plan::outcome::{Action, Outcome};
use mooring_plan::time::Instant;

#[test]
fn an_action_has_a_name_of_its_own_and_changes_something_unless_it_describes() {
    let names: BTreeSet<_> = Action::ALL.map(Action::name).into();
    assert_eq!(names.len(), Action::ALL.len());
    for action in Action::ALL {
        let reads = action.name().starts_with("Describe");
        assert_eq!(action.mutates(), !reads, "{action}");
        assert_eq!(action.to_string(), action.name());
    }
    assert_eq!(Action::Assign.name(), "AssignPrivateIpAddresses");
}

#[test]
fn outcomes_have_distinct_names() {
    for outcome in [
        Outcome::Done,
        Outcome::AssignedElsewhere,
        Outcome::Denied,
        Outcome::Unknown,
    ] {
        assert_eq!(outcome.as_str(), format!("{outcome:?}"));
        assert_eq!(outcome.to_string(), outcome.as_str());
    }
}

#[test]
fn only_refusals_by_an_interface_are_permanent() {
    for outcome in [
        Outcome::NoRoom,
        Outcome::InterfaceNotFound,
        Outcome::NotInSubnet,
    ] {
        assert!(outcome.is_for_good(), "{outcome}");
    }
    for outcome in [Outcome::Throttled, Outcome::Denied, Outcome::Unknown] {
        assert!(!outcome.is_for_good(), "{outcome}");
    }
}

#[test]
fn only_errors_that_affect_every_call_are_global() {
    let of_all = Outcome::ALL.iter().filter(|outcome| outcome.is_of_all());
    let of_all: Vec<Outcome> = of_all.copied().collect();
    assert_eq!(
        of_all,
        [
            Outcome::Denied,
            Outcome::Unauthenticated,
            Outcome::Throttled,
            Outcome::Unknown
        ]
    );
}

/// Takes all tokens.
fn drained(buckets: &mut Buckets, now: Instant) -> u64 {
    let mut taken = 0;
    while taken < 1000 && buckets.take(Action::Assign, now).is_ok() {
        taken += 1;
    }
    taken
}

#[test]
fn a_refusal_has_the_exact_time_of_the_next_token() {
    for later in [0, 1, 77, 199] {
        let mut buckets = Buckets::default();
        buckets.throttled(Action::Assign, Instant::START);
        let now = Instant::from_millis(later);
        let when = buckets.take(Action::Assign, now).unwrap_err();
        let before = Instant::from_millis(when.as_millis() - 1);
        let mut early = buckets.clone();
        assert!(early.take(Action::Assign, before).is_err(), "{later}");
        assert_eq!(buckets.take(Action::Assign, when), Ok(()), "{later}");
    }
}

#[test]
fn an_idle_bucket_refills_to_a_full_burst_and_no_more() {
    let mut buckets = Buckets::default();
    let burst = drained(&mut buckets, Instant::START);
    assert_eq!(drained(&mut buckets, Instant::from_secs(3600)), burst);
}

#[test]
fn frequent_requests_do_not_slow_the_refill() {
    let mut buckets = Buckets::default();
    drained(&mut buckets, Instant::START);
    let mut made = 0;
    for later in 1..=32_000 {
        let now = Instant::from_millis(later);
        made += u32::from(buckets.take(Action::Assign, now).is_ok());
    }
    assert_eq!(made, 160, "5 a second");
}
