//! Requests for the limits of instance types, and the effect of a type that EC2 does not know.
//! Rules: R3.10, R3.11.

use std::collections::BTreeSet;
use std::time::Duration;

use mooring_plan::cloud::Subnet;
use mooring_plan::facts::Fact;
use mooring_plan::names::{InstanceType, SubnetId};
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::BlockStep;

use super::{next_status, steps};
use crate::sim::{SUBNET, Sim, interface_of};

const HOUR: Duration = Duration::from_hours(1);

/// One node of each of these types, after one inventory. The limits of the types were not requested yet.
fn nodes_of(types: &[&str]) -> Sim {
    let mut sim = Sim::new();
    for (number, kind) in types.iter().enumerate() {
        let name = format!("n{number}");
        sim.node(&name);
        sim.change_node(&name, |node| node.instance_type = Some((*kind).into()));
    }
    look(&mut sim);
    sim
}

fn look(sim: &mut Sim) {
    sim.deliver(0);
    let list = sim.ec2.describe(sim.now);
    let done = Fact::InventoryDone(SubnetId::from(SUBNET), list);
    sim.apply(done);
}

fn of(types: &[&str]) -> BTreeSet<InstanceType> {
    types.iter().map(|kind| InstanceType::from(*kind)).collect()
}

/// The types in the next request.
fn asked(sim: &mut Sim) -> BTreeSet<InstanceType> {
    let asked = steps(sim).into_iter().find_map(|step| match step {
        BlockStep::ReadLimits(types) => Some(types),
        _ => None,
    });
    asked.unwrap_or_default()
}

/// Repeats requests until none is left; EC2 does not know the types `unknown`. Returns the number of requests and the
/// types with an answer.
fn ask(sim: &mut Sim, unknown: &[&str]) -> (usize, BTreeSet<InstanceType>) {
    let (unknown, mut answered) = (of(unknown), BTreeSet::new());
    for question in 0..200 {
        let types = asked(sim);
        if types.is_empty() {
            return (question, answered);
        }
        let fact = if types.is_disjoint(&unknown) {
            answered.extend(types.clone());
            Fact::LimitsRead(types.into_iter().map(|kind| (kind, 2)).collect())
        } else {
            Fact::LimitsFailed(types, Outcome::Invalid)
        };
        sim.apply(fact);
    }
    panic!("asked without end\n{}", sim.story());
}

#[test]
fn types_are_requested_together_and_only_once() {
    let mut sim = nodes_of(&["m5.large", "c5.large", "m5.large"]);
    assert_eq!(asked(&mut sim), of(&["c5.large", "m5.large"]));
    assert_eq!(ask(&mut sim, &[]).0, 1);
    sim.now = sim.now.plus(HOUR);
    assert_eq!(asked(&mut sim), of(&[]));
}

#[test]
fn only_types_of_usable_nodes_are_requested() {
    let mut sim = nodes_of(&["m5.large", "fargate"]);
    sim.ec2.delete_interface(&interface_of("n1"));
    look(&mut sim);
    assert_eq!(asked(&mut sim), of(&["m5.large"]));
}

#[test]
fn before_an_inventory_no_type_is_requested() {
    let mut sim = Sim::new();
    sim.node("n1");
    assert_eq!(asked(&mut sim), of(&[]));
}

#[test]
fn a_failed_request_is_repeated_after_a_minute() {
    for outcome in [Outcome::Unknown, Outcome::Denied, Outcome::Throttled] {
        let mut sim = nodes_of(&["m5.large", "c5.large"]);
        let types = asked(&mut sim);
        let began = sim.now;
        sim.apply(Fact::LimitsFailed(types.clone(), outcome));
        for (after, then) in [(0, of(&[])), (59_999, of(&[])), (60_000, types)] {
            sim.now = began.plus(Duration::from_millis(after));
            assert_eq!(asked(&mut sim), then, "{outcome}, after {after} ms");
        }
    }
}

#[test]
fn a_block_says_that_the_limits_may_not_be_read() {
    let mut sim = nodes_of(&["m5.large"]);
    let subnet = Subnet::untagged(vec!["203.0.113.0/24".parse().unwrap()]);
    sim.apply(Fact::SubnetRead(SubnetId::from(SUBNET), subnet));
    let types = asked(&mut sim);
    for (outcome, words) in [
        (Outcome::Denied, "allow it in the controller's IAM policy"),
        (Outcome::Unauthenticated, "accepts no credentials"),
    ] {
        sim.apply(Fact::LimitsFailed(types.clone(), outcome));
        let (status, notices) = next_status(&mut sim);
        let ready = &status.conditions["Ready"];
        assert!(ready.status, "addresses can still be reserved");
        for text in ["ec2:DescribeInstanceTypes", words] {
            assert!(ready.message.contains(text), "{}", ready.message);
        }
        let reasons: Vec<_> = notices.iter().map(|notice| notice.reason).collect();
        assert_eq!(reasons, [Reason::AccessDenied]);
    }
    let limits = types.into_iter().map(|kind| (kind, 10)).collect();
    sim.apply(Fact::LimitsRead(limits));
    let (status, notices) = next_status(&mut sim);
    let ready = &status.conditions["Ready"].message;
    assert!(!ready.contains("ec2:"), "{ready}");
    assert_eq!(notices, []);
}

#[test]
fn an_unknown_type_hides_no_other() {
    let known = ["a1", "a2", "a3", "a4", "a6", "a7", "a8", "a9"];
    let mut all = known.to_vec();
    all.push("a5-odd");
    let mut sim = nodes_of(&all);
    // Requests with 9, 5, 3, 2 and 1 types, and one for the rest of each half.
    let (questions, answered) = ask(&mut sim, &["a5-odd"]);
    assert_eq!(answered, of(&known));
    assert!(questions <= 9, "{questions} questions");
    // The limit of each ENI is two addresses, so each of these nodes can carry one address of ours.
    for (ip, address) in [("one", "203.0.113.21"), ("two", "203.0.113.22")] {
        sim.ip(ip, address);
        sim.pod(ip).on("n0").asks(ip);
    }
    sim.ec2.limit_addresses(2);
    sim.wait(Duration::from_mins(1));
    sim.expect_attached("one", "one");
    assert_eq!(sim.ec2.assigned().len(), 1, "{}", sim.story());
    assert_eq!(
        sim.counts.assigns, 1,
        "there is no room for the other, as is known"
    );
}

#[test]
fn an_unknown_type_is_requested_again_alone_and_rarely() {
    let mut sim = nodes_of(&["a1", "a2", "odd"]);
    ask(&mut sim, &["odd"]);
    let began = sim.now;
    sim.now = began.plus(HOUR.saturating_sub(Duration::from_millis(1)));
    assert_eq!(asked(&mut sim), of(&[]));
    // A node of another type appears: the request for its type does not wait.
    sim.node("late");
    sim.change_node("late", |node| node.instance_type = Some("a3".into()));
    look(&mut sim);
    assert_eq!(ask(&mut sim, &["odd"]).0, 1);
    sim.now = began.plus(HOUR);
    assert_eq!(asked(&mut sim), of(&["odd"]));
    assert_eq!(ask(&mut sim, &["odd"]).0, 1);
    sim.now = sim.now.plus(HOUR);
    assert_eq!(ask(&mut sim, &[]).0, 1);
    sim.now = sim.now.plus(HOUR);
    assert_eq!(asked(&mut sim), of(&[]), "it is known");
}

#[test]
fn several_unknown_types_hide_no_other() {
    let names: Vec<String> = (0..40).map(|number| format!("t{number:02}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut sim = nodes_of(&all);
    let (questions, answered) = ask(&mut sim, &["t03", "t17", "t18"]);
    assert_eq!(answered.len(), 37, "{answered:?}");
    assert!(questions <= 40, "{questions} questions");
}

#[test]
fn no_request_exceeds_the_limit_of_ec2() {
    let names: Vec<String> = (0..130).map(|number| format!("t{number:03}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut sim = nodes_of(&all);
    assert_eq!(asked(&mut sim).len(), 100);
    assert_eq!(ask(&mut sim, &[]).0, 2);
}
