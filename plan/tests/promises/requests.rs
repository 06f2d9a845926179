//! The order and time of requests to EC2 when several wait.
//! Rules: R5.28 to R5.31, R6.4.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::engine::{Completion, Event, Work};
use mooring_plan::facts::{CallError, WriteOutcome};
use mooring_plan::names::SubnetId;
use mooring_plan::outcome::{Action, Outcome};
use mooring_plan::step::Write;
use mooring_plan::time::Instant;

use crate::paced::{Paced, Sent, node};

const MINUTE: Duration = Duration::from_mins(1);
/// Duration of a request.
const EC2: Duration = Duration::from_millis(20);

fn error(outcome: Outcome) -> CallError {
    CallError::new(outcome, "")
}

fn sizes(world: &Paced) -> Vec<usize> {
    let sent = world.sent.iter();
    sent.map(|sent| sent.addresses.len()).collect()
}

fn of(world: &Paced, action: Action) -> impl Iterator<Item = &Sent> {
    let sent = world.sent.iter();
    sent.filter(move |sent| sent.group.action() == action)
}

/// Creates a pod for each IP, on these nodes in turn.
fn pods(world: &mut Paced, ips: usize, name: &str, on: &[usize]) {
    for number in 0..ips {
        let on = on[number % on.len()];
        world.pod(&format!("{name}-{number}"), number, on);
    }
}

#[test]
fn more_pods_than_steps_in_flight_share_one_request_for_each_interface() {
    let mut world = Paced::new(3, 120, Reassign::Refuse);
    world.run(MINUTE);
    pods(&mut world, 120, "a", &[0, 1, 2]);
    world.run(MINUTE);
    assert_eq!(world.attached(120), 120);
    assert_eq!(sizes(&world), [40, 40, 40], "{:?}", world.sent);
    // A request counts as one in flight, independent of the number of its addresses.
    let (first, last) = (world.sent[0].at, world.sent[2].at);
    assert!(last.since(first) < EC2, "{:?}", world.sent);
}

/// The API server answers no create of a reservation in time, and hundreds of IPs repeat theirs.
#[test]
fn slow_writes_of_other_ips_leave_room_for_calls() {
    let mut world = Paced::new(1, 1, Reassign::Refuse);
    world.run(MINUTE);
    world.create_takes = Duration::from_secs(5);
    world.refuses = |write| matches!(write, Write::Reserve { .. }).then_some(WriteOutcome::Unknown);
    world.ips_of_block(1..1000);
    world.run(MINUTE);
    world.pod("a", 0, 0);
    world.run(MINUTE);
    assert_eq!(world.attached(1), 1, "{:?}", world.sent);
}

#[test]
fn at_most_64_requests_are_in_flight() {
    let mut world = Paced::new(90, 90, Reassign::Refuse);
    world.run(MINUTE);
    for number in 0..90 {
        world.pod(&node(number), number, number);
    }
    world.run(MINUTE);
    assert_eq!(world.attached(90), 90);
    let at_once = |at: Instant| {
        let sent = world.sent.iter();
        sent.filter(|sent| sent.at <= at && at.since(sent.at) < EC2)
            .count()
    };
    let most = world.sent.iter().map(|sent| at_once(sent.at)).max();
    assert_eq!(most, Some(64), "{:?}", world.sent);
}

#[test]
fn a_request_of_several_that_ec2_does_not_serve_is_not_split() {
    for outcome in [Outcome::Throttled, Outcome::InterfaceNotFound] {
        let mut world = Paced::new(1, 10, Reassign::Refuse);
        world.run(MINUTE);
        world.fail = vec![error(outcome)];
        pods(&mut world, 10, "a", &[0]);
        world.run(Duration::from_mins(10));
        assert_eq!(world.sent[0].addresses.len(), 10, "{outcome}");
        let split = sizes(&world).contains(&5);
        assert!(!split, "{outcome}: {:?}", sizes(&world));
    }
}

#[test]
fn the_assigns_after_several_unassigns_share_a_request() {
    let mut world = Paced::new(4, 30, Reassign::Refuse);
    world.run(MINUTE);
    pods(&mut world, 30, "old", &[0, 1, 2]);
    world.run(MINUTE);
    assert_eq!(world.attached(30), 30);
    world.sent.clear();
    // The pods of one node after the other are replaced, faster than a request ends.
    for from in 0..3 {
        for number in (from..30).step_by(3) {
            world.ends(&format!("old-{number}"));
            world.pod(&format!("new-{number}"), number, 3);
        }
        world.run(EC2 / 4);
    }
    world.run(MINUTE);
    assert_eq!(world.attached(30), 30);
    let sent = |action| of(&world, action).map(|sent| (sent.at, sent.addresses.len()));
    let unassigns: Vec<_> = sent(Action::Unassign).collect();
    let assigns: Vec<_> = sent(Action::Assign).collect();
    assert_eq!((unassigns.len(), assigns.len()), (3, 1), "{:?}", world.sent);
    let (first, last) = (unassigns[0].0, unassigns[2].0);
    assert!(first < last && last.since(first) < EC2);
}

/// An IP is attached to a node, and its pod ends. A pod of another IP was bound to `on` this time before.
fn one_detaches(on: usize, before: Duration) -> Paced {
    let mut world = Paced::new(2, 2, Reassign::Refuse);
    world.run(MINUTE);
    world.pod("db", 0, 0);
    world.run(MINUTE);
    assert_eq!(world.attached(1), 1);
    world.sent.clear();
    world.is_deleted("db");
    world.pod("other", 1, on);
    world.run(before);
    world.ends("db");
    world
}

#[test]
fn an_unassign_does_not_wait_for_tokens_of_assigns() {
    let mut world = one_detaches(1, Duration::ZERO);
    let until = world.now.plus(Duration::from_secs(10));
    while world.now < until {
        // Another program in the account takes all tokens.
        let completion = Completion {
            facts: Vec::new(),
            called: vec![(Action::Assign, Some(Outcome::Throttled))],
        };
        let work = Work::Inventory(SubnetId::from("other"));
        let now = world.now;
        world.engine.handle(Event::Completed(work, completion), now);
        world.run(Duration::from_millis(10));
    }
    assert_eq!(of(&world, Action::Unassign).count(), 1);
    assert_eq!(of(&world, Action::Assign).count(), 0);
    world.run(MINUTE);
    assert_eq!(of(&world, Action::Assign).count(), 1);
}

#[test]
fn an_unassign_does_not_wait_for_an_assign_in_flight() {
    // The claim of the other IP takes 7 ms, and its Assign 20 ms from then on.
    let mut world = one_detaches(0, Duration::from_millis(10));
    world.run(5 * MINUTE);
    let sent = |action| of(&world, action).next().unwrap().at;
    let (assign, unassign) = (sent(Action::Assign), sent(Action::Unassign));
    assert!(assign < unassign, "{:?}", world.sent);
    assert!(unassign.since(assign) < EC2, "{:?}", world.sent);
}
