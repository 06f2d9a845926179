//! The engine decides for the pods of an IP that is gone when they change, when a time has passed, and when it begins
//! to lead; a process that does not lead does nothing.
//! Rules: R3.31, R6.8.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::facts::Fact;
use mooring_plan::lease::Leadership;
use mooring_plan::names::{IpName, NodeName};
use mooring_plan::objects::Pod;
use mooring_plan::reason::Reason;
use mooring_world::objects::{self, key};

use crate::engine::Driven;
use crate::paced::{Paced, ip, node};

/// Pods "a" and "b" are not scheduled, and their IP is gone.
fn world() -> Paced {
    let mut world = Paced::new(1, 2, Reassign::Refuse);
    world.run(Duration::from_secs(20));
    for pod in ["a", "b"] {
        world.pending_pod(pod, 0);
    }
    world.run(Duration::from_secs(20));
    world.kube.change_ip(&ip(0), None, |ip| ip.deleting = true);
    world.watches_show();
    world.run(Duration::from_mins(1));
    assert!(!world.kube.ips.contains_key(&ip(0)));
    world.written.clear();
    world
}

/// Whether the gate of the pod has the reason.
fn is_reported(world: &Paced, pod: &str) -> bool {
    let gate = world.kube.pods[&key(pod)].gate.as_ref();
    gate.is_some_and(|gate| !gate.status && gate.reason == Reason::StalePod.as_str())
}

#[test]
fn a_pod_gets_its_reason_in_time_and_one_event() {
    let mut world = world();
    world.is_bound("a", 0);
    world.run(Duration::from_millis(2_100));
    assert!(is_reported(&world, "a"));
    world.is_bound("b", 0);
    world.run(Duration::from_millis(2_100));
    assert!(is_reported(&world, "b"));
    world.run(Duration::from_mins(30));
    assert_eq!(world.written.len(), 2, "{:?}", world.written);
    let stale = |notice: &&mooring_plan::step::Notice| notice.reason == Reason::StalePod;
    assert_eq!(world.notices.iter().filter(stale).count(), 2);
}

#[test]
fn a_write_that_fails_is_repeated_until_it_succeeds() {
    let mut world = world();
    world.refuses = |_| Some(mooring_plan::facts::WriteOutcome::Unknown);
    world.is_bound("a", 0);
    world.run(Duration::from_mins(1));
    let tries = world.written.len();
    assert!((4..=10).contains(&tries), "{tries}");
    world.refuses = |_| None;
    world.run(Duration::from_secs(31));
    assert!(is_reported(&world, "a"));
}

#[test]
fn a_process_that_begins_to_lead_reports_on_the_pods_that_changed_before() {
    let mut world = world();
    let bind = |pod: &mut Pod| pod.node = Some(NodeName::new(node(0)));
    world.kube.change_pod(&key("a"), bind);
    world
        .kube
        .change_pod(&key("b"), |pod| pod.annotated = false);
    world.begins();
    world.run(Duration::from_millis(2_500));
    assert!(is_reported(&world, "a"));
    let released = &world.kube.pods[&key("b")];
    assert_eq!(
        (&released.label, released.gate_status()),
        (&None, Some(true))
    );
}

#[test]
fn a_process_that_does_not_lead_or_has_not_listed_everything_reads_nothing() {
    let mut driven = Driven::knowing(0);
    let asked = IpName::from("gone");
    let pod = Pod {
        node: Some("n1".into()),
        ..objects::pod("a", "a", asked.as_str(), Some("earlier".into()))
    };
    driven.fact(Fact::Pod(pod));
    driven.lead(Leadership::ALWAYS);
    driven.now = driven.now.plus(Duration::from_secs(10));
    assert_eq!(driven.begun(), []);
    driven.lead(Leadership::default());
    driven.synced();
    driven.now = driven.now.plus(Duration::from_secs(10));
    assert_eq!(driven.begun(), []);
    driven.lead(Leadership::ALWAYS);
    assert_eq!(driven.begun(), [asked]);
}
