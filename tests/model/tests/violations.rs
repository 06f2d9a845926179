//! The rules of the model find violations: each test gives a rule a wrong state.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "an unexpected condition fails the test"
)]

use std::sync::Arc;

use mooring_model::configurations::ALL;
use mooring_model::fixtures::address;
use mooring_model::liveness::Liveness;
use mooring_model::model::Configuration;
use mooring_model::report::explore;
use mooring_model::rules::{Rule, invariants};
use mooring_model::world::events::Event;
use mooring_plan::objects::Gate;
use mooring_plan::reason::Reason;

fn configuration(name: &str) -> Configuration {
    let made = ALL.iter().find(|(known, _)| *known == name);
    made.unwrap().1()
}

#[test]
fn a_configuration_without_faults_is_explored_completely_without_violations() {
    let mut attach = configuration("attach");
    attach.initial.faults = 0;
    let explored = explore(&attach, 1);
    assert!(
        explored.complete && explored.violated.is_empty(),
        "{:?}",
        explored.violated
    );
    assert!(explored.states > 500, "{} states", explored.states);
}

#[test]
fn a_milestone_that_is_never_reached_is_reported() {
    let mut attach = configuration("attach");
    attach.initial.faults = 0;
    let explored = explore(&attach, 1);
    let missing = explored.reached.iter().filter(|(_, so)| !so).count();
    assert!(missing > 0 && !explored.passed(), "{:?}", explored.reached);
}

#[test]
fn two_pods_with_a_true_gate_for_one_address_violate_s1() {
    let mut state = configuration("rollout-broken").initial;
    invariants(&state).unwrap();
    state.kube.change(|kube| {
        for pod in kube.pods.values_mut() {
            let reason = Reason::Attached.as_str().to_owned();
            pod.gate = Some(Gate {
                status: true,
                reason,
            });
        }
    });
    assert_eq!(invariants(&state).unwrap_err().rule, Rule::S1);
}

#[test]
fn an_address_without_a_status_is_found() {
    let mut state = configuration("move").initial;
    state.kube.change(|kube| {
        for ip in kube.ips.values_mut() {
            ip.status.claim = None;
        }
    });
    assert_eq!(invariants(&state).unwrap_err().rule, Rule::Tracked);
}

#[test]
fn an_address_without_its_reservation_is_found() {
    let mut state = configuration("move").initial;
    state.kube.change(|kube| kube.reservations.clear());
    assert_eq!(invariants(&state).unwrap_err().rule, Rule::Tracked);
}

#[test]
fn a_world_without_controllers_does_not_reach_its_goal() {
    let mut attach = configuration("attach");
    let [Event::PodCreated(pod)] = &attach.tracks[0][..] else {
        panic!("{:?}", attach.tracks);
    };
    attach
        .initial
        .kube
        .change(|kube| kube.pods.insert(pod.key.clone(), pod.clone()));
    attach.initial.controllers.clear();
    let settles = Liveness::new().settles(&attach.fixtures, &attach.initial);
    assert!(settles.is_err(), "a world without controllers passes");
}

#[test]
fn a_violation_ends_the_exploration_and_its_path_is_reported() {
    let mut wrong = configuration("move");
    // The address of the spec is not reserved, and without controllers it never will be.
    wrong.initial.kube.change(|kube| kube.reservations.clear());
    wrong.liveness = Arc::new(Liveness::new());
    wrong.initial.controllers.clear();
    let explored = explore(&wrong, 1);
    assert!(!explored.complete && !explored.passed());
    let (_, story) = &explored.violated[0];
    assert!(story.contains(&address(10).to_string()), "{story}");
}
