//! What EC2's answers mean, and how often it may be asked.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;

use mooring_plan::buckets::Buckets;
use mooring_plan::classify::{Action, Outcome, classify};
use mooring_plan::names::Millis;

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
fn an_outcome_is_called_by_its_own_name() {
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
fn only_what_an_interface_will_refuse_again_is_for_good() {
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
fn only_what_may_befall_every_call_is_of_all() {
    let of_all = Outcome::ALL.iter().filter(|outcome| outcome.is_of_all());
    let of_all: Vec<Outcome> = of_all.copied().collect();
    for outcome in [Outcome::Denied, Outcome::Throttled, Outcome::Unknown] {
        assert!(of_all.contains(&outcome), "{outcome}");
    }
    assert_eq!(of_all.len(), 3, "{of_all:?}");
}

/// Each sentence alone, in EC2's spelling and in another: one word that carries it is enough.
#[test]
fn a_refusal_is_known_by_any_of_the_words_that_carry_it() {
    use Action::{Assign, Unassign};
    for (action, sentence, outcome) in [
        (Assign, "Invalid secondary-addresses", Outcome::Primary),
        (Assign, "It is the PRIMARY address", Outcome::Primary),
        (Assign, "is reserved", Outcome::ReservedByAws),
        (
            Assign,
            "does not fall within the range",
            Outcome::NotInSubnet,
        ),
        (
            Assign,
            "Outside of the Subnet's address range",
            Outcome::NotInSubnet,
        ),
        (
            Assign,
            "assigned, but move is not allowed",
            Outcome::AssignedElsewhere,
        ),
        (Unassign, "is not assigned to eni-1", Outcome::Done),
        (Unassign, "not associated with eni-1", Outcome::Done),
        (Unassign, "is not on interface eni-1", Outcome::Done),
        // Another call's words are no word on this one.
        (Assign, "is not assigned to eni-1", Outcome::Invalid),
        (Unassign, "move is not allowed", Outcome::Invalid),
        (Unassign, "is reserved", Outcome::Invalid),
        (
            Action::DescribeInterfaces,
            "not assigned to",
            Outcome::Invalid,
        ),
        (Action::DescribeInterfaces, "primary", Outcome::Invalid),
    ] {
        let meant = classify(action, "InvalidParameterValue", sentence);
        assert_eq!(meant, outcome, "{action}: {sentence}");
    }
}

#[test]
fn an_address_that_is_elsewhere_is_a_refusal_of_an_assignment_only() {
    for code in ["Resource.AlreadyAssigned", "InvalidIPAddress.InUse"] {
        let meant = |action| classify(action, code, "");
        assert_eq!(meant(Action::Assign), Outcome::AssignedElsewhere, "{code}");
        assert_eq!(meant(Action::Unassign), Outcome::Invalid, "{code}");
    }
}

#[test]
fn a_refusal_without_a_name_here_is_known_by_how_its_code_begins() {
    for code in ["InvalidSomethingNew", "MissingParameter", "IncorrectState"] {
        assert_eq!(classify(Action::Assign, code, ""), Outcome::Invalid);
    }
}

/// Takes every token that there is.
fn drained(buckets: &mut Buckets, now: Millis) -> u64 {
    let mut taken = 0;
    while taken < 1000 && buckets.take(Action::Assign, now).is_ok() {
        taken += 1;
    }
    taken
}

#[test]
fn a_refusal_names_the_very_moment_at_which_a_token_comes() {
    for later in [0, 1, 77, 199] {
        let mut buckets = Buckets::new();
        buckets.throttled(Action::Assign, Millis(0));
        let now = Millis(later);
        let when = buckets.take(Action::Assign, now).unwrap_err();
        let before = Millis(when.0 - 1);
        let mut early = buckets.clone();
        assert!(early.take(Action::Assign, before).is_err(), "{later}");
        assert_eq!(buckets.take(Action::Assign, when), Ok(()), "{later}");
    }
}

#[test]
fn a_bucket_that_rested_holds_a_full_burst_again_and_no_more() {
    let mut buckets = Buckets::new();
    let burst = drained(&mut buckets, Millis(0));
    assert_eq!(drained(&mut buckets, Millis::seconds(3600)), burst);
}

#[test]
fn to_ask_often_fills_no_bucket_more_slowly() {
    let mut buckets = Buckets::new();
    drained(&mut buckets, Millis(0));
    let mut made = 0;
    for later in 1..=32_000 {
        let now = Millis(later);
        made += u32::from(buckets.take(Action::Assign, now).is_ok());
    }
    assert_eq!(made, 160, "5 a second");
}
