//! The steps of fast failover begin when they are due, and not more often.
//! Rules: R3.35, R3.39, R5.10.

use std::collections::BTreeSet;
use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::outcome::{Action, Outcome};
use mooring_plan::step::{Checks, NodeStep};
use mooring_plan::time::Instant;

use crate::due::throttled;
use crate::paced::{Paced, node};

const MINUTE: Duration = Duration::from_mins(1);
const SECOND: Duration = Duration::from_secs(1);
const MOMENT: Duration = Duration::from_millis(100);

/// Nodes with one address each, of a block with fast failover.
fn fast(nodes: usize) -> Paced {
    let mut world = Paced::new(nodes, nodes, Reassign::Refuse);
    world.change_blocks(|spec| spec.fast_failover = true);
    for number in 0..nodes {
        world.pod(&node(number), number, number);
    }
    world.run(5 * MINUTE);
    assert_eq!(world.attached(nodes), nodes);
    world
}

/// Number of nodes with the taint of Mooring.
fn out_of_service(world: &Paced) -> usize {
    let nodes = world.kube.nodes.values();
    nodes.filter(|node| node.our_taint).count()
}

#[test]
fn nodes_that_go_one_after_the_other_are_out_of_service_at_once() {
    let mut world = fast(5);
    for number in 0..5 {
        world.is_stopped(number);
        world.run(Duration::from_millis(5));
    }
    world.run(MOMENT);
    assert_eq!(out_of_service(&world), 5);
}

#[test]
fn a_question_about_a_node_is_asked_at_once_and_each_next_one_when_it_is_due() {
    let mut world = fast(1);
    world.node_steps.clear();
    let changed = world.now;
    world.change_node(0, |node| node.ready = false);
    world.run(MINUTE);
    assert_eq!(world.node_steps[0].0, changed);
    world.wakes = 0;
    world.node_steps.clear();
    world.run(10 * MINUTE);
    let asked = world.node_steps.len();
    assert!(asked >= 20, "{asked}");
    // One wake-up for each question, plus those of a world at rest.
    assert!(world.wakes <= 130 + asked, "{} of {asked}", world.wakes);
}

#[test]
fn a_node_that_goes_just_after_a_look_is_looked_at_a_moment_later() {
    let mut world = Paced::new(2, 1, Reassign::Refuse);
    world.change_blocks(|spec| spec.fast_failover = true);
    world.pod("db", 0, 0);
    world.run(5 * MINUTE);
    world.run(Duration::from_millis(1234));
    // A node without an address: no question is needed.
    world.change_node(1, |node| node.ready = false);
    world.run(Duration::from_millis(5));
    assert_eq!(world.node_steps, []);
    let changed = world.now;
    world.is_stopped(0);
    world.run(MINUTE);
    let asked = world.node_steps[0].0.since(changed);
    assert!(asked <= Duration::from_millis(20), "{asked:?}");
}

#[test]
fn at_most_eight_nodes_have_a_step_in_flight_and_each_has_one() {
    let mut world = fast(30);
    world.node_steps.clear();
    for number in 0..30 {
        world.is_stopped(number);
    }
    world.run(SECOND);
    assert_eq!(out_of_service(&world), 30);
    // One question and one taint for each node.
    assert_eq!(world.node_steps.len(), 60);
    for (at, ..) in &world.node_steps {
        let lasts = |begun: &Instant| begun <= at && at.since(*begun) < Duration::from_millis(20);
        let steps = world.node_steps.iter();
        let nodes: Vec<_> = steps.filter(|(begun, ..)| lasts(begun)).collect();
        let different: BTreeSet<_> = nodes.iter().map(|(_, node, _)| node).collect();
        assert_eq!(different.len(), nodes.len());
        assert!(nodes.len() <= 8, "{}", nodes.len());
    }
}

#[test]
fn nodes_whose_instances_run_do_not_delay_the_others() {
    let mut world = fast(30);
    world.question_takes = 3 * SECOND;
    for number in 0..30 {
        if number < 8 {
            world.change_node(number, |node| node.ready = false);
        } else {
            world.is_stopped(number);
        }
    }
    world.run(20 * SECOND);
    assert_eq!(out_of_service(&world), 22);
}

#[test]
fn a_taint_does_not_wait_for_questions_about_other_nodes() {
    let mut world = fast(30);
    world.question_takes = 3 * SECOND;
    world.is_stopped(29);
    world.run(SECOND);
    for number in 0..29 {
        world.change_node(number, |node| node.ready = false);
    }
    world.run(2 * SECOND + MOMENT);
    assert_eq!(out_of_service(&world), 1);
}

#[test]
fn questions_about_nodes_need_tokens() {
    let asked = |world: &Paced, with: Checks| {
        let steps = world.node_steps.iter();
        let asked = steps
            .filter(|(_, _, step)| matches!(step, NodeStep::Ask(_, checks) if *checks == with));
        asked.count()
    };
    let mut world = fast(1);
    world.node_steps.clear();
    world.change_node(0, |node| node.ready = false);
    let none = Some(Outcome::Throttled);
    throttled(&mut world, Action::DescribeInstances, none, 20 * SECOND);
    assert_eq!(world.node_steps, []);
    // Status checks are not read yet.
    throttled(&mut world, Action::DescribeInstanceStatus, none, 5 * SECOND);
    assert!(asked(&world, Checks::NotAsked) > 0);
    throttled(&mut world, Action::DescribeInstanceStatus, none, MINUTE);
    assert_eq!(asked(&world, Checks::Asked), 0);
    world.run(MINUTE);
    assert!(asked(&world, Checks::Asked) > 0);
}
