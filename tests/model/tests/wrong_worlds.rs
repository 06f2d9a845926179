//! The model's own rules can fail: each is shown a world that is wrong.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "what a test did not foresee fails it"
)]

use std::sync::Arc;

use mooring_model::calm::Calm;
use mooring_model::cast::address;
use mooring_model::configurations::ALL;
use mooring_model::model::Configuration;
use mooring_model::report::explore;
use mooring_model::rules::{Rule, standing};
use mooring_model::world::events::Event;
use mooring_plan::objects::Gate;
use mooring_plan::reason::Reason;

fn configuration(name: &str) -> Configuration {
    let made = ALL.iter().find(|(known, _)| *known == name);
    made.unwrap().1()
}

#[test]
fn a_configuration_without_faults_is_explored_to_its_end_and_nothing_is_wrong_in_it() {
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
fn what_is_never_reached_is_told() {
    let mut attach = configuration("attach");
    attach.initial.faults = 0;
    let explored = explore(&attach, 1);
    let missing = explored.reached.iter().filter(|(_, so)| !so).count();
    assert!(missing > 0 && !explored.holds(), "{:?}", explored.reached);
}

#[test]
fn two_pods_that_say_they_have_one_address_break_the_first_rule() {
    let mut state = configuration("rollout-broken").initial;
    standing(&state).unwrap();
    state.kube.change(|kube| {
        for pod in kube.pods.values_mut() {
            let reason = Reason::Attached.as_str().to_owned();
            pod.gate = Some(Gate {
                status: true,
                reason,
            });
        }
    });
    assert_eq!(standing(&state).unwrap_err().rule, Rule::S1);
}

#[test]
fn an_address_that_no_status_knows_of_is_seen() {
    let mut state = configuration("move").initial;
    state.kube.change(|kube| {
        for ip in kube.ips.values_mut() {
            ip.status.claim = None;
        }
    });
    assert_eq!(standing(&state).unwrap_err().rule, Rule::Remembered);
}

#[test]
fn an_address_whose_reservation_is_gone_is_seen() {
    let mut state = configuration("move").initial;
    state.kube.change(|kube| kube.reservations.clear());
    assert_eq!(standing(&state).unwrap_err().rule, Rule::Remembered);
}

#[test]
fn a_world_that_nobody_puts_right_does_not_settle() {
    let mut attach = configuration("attach");
    let [Event::PodCreated(pod)] = &attach.tracks[0][..] else {
        panic!("{:?}", attach.tracks);
    };
    attach
        .initial
        .kube
        .change(|kube| kube.pods.insert(pod.key.clone(), pod.clone()));
    attach.initial.controllers.clear();
    let settles = Calm::new().settles(&attach.cast, &attach.initial);
    assert!(
        settles.is_err(),
        "without a controller all is said to be well"
    );
}

#[test]
fn a_violation_ends_the_exploration_and_its_path_is_told() {
    let mut wrong = configuration("move");
    // The wish names an address that nobody can give: rest is never where it should be.
    wrong.initial.kube.change(|kube| kube.reservations.clear());
    wrong.calm = Arc::new(Calm::new());
    wrong.initial.controllers.clear();
    let explored = explore(&wrong, 1);
    assert!(!explored.complete && !explored.holds());
    let (_, story) = &explored.violated[0];
    assert!(story.contains(&address(10).to_string()), "{story}");
}
