//! Each part of a failover after a taint of Mooring is measured once, and Events are posted.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::engine::FailoverPart;
use mooring_plan::objects::DataPath;
use mooring_plan::reason::Reason;
use mooring_plan::step::Regarding;

use crate::paced::{Paced, ip};

const MOMENT: Duration = Duration::from_secs(1);

/// A pod on the first of two nodes, whose instance is then stopped.
fn stopped() -> Paced {
    let mut world = Paced::new(2, 1, Reassign::Refuse);
    world.change_blocks(|spec| spec.fast_failover = true);
    world.pod("db", 0, 0);
    world.run(Duration::from_secs(20));
    assert_eq!(world.attached(1), 1);
    world.notices.clear();
    world.is_stopped(0);
    world.run(MOMENT);
    world
}

fn parts(world: &Paced) -> Vec<FailoverPart> {
    world.failovers.iter().map(|(part, _)| *part).collect()
}

#[test]
fn the_parts_are_measured_in_their_order_and_add_up() {
    let mut world = stopped();
    assert_eq!(parts(&world), [FailoverPart::Detection]);
    let (_, detection) = world.failovers[0];
    assert!(detection < Duration::from_millis(200), "{detection:?}");
    world.run(Duration::from_secs(2));
    world.is_deleted("db");
    world.run(Duration::from_secs(3));
    world.ends("db");
    world.pod("db", 0, 1);
    world.run(Duration::from_mins(1));
    assert_eq!(world.attached(1), 1);
    let expected: Vec<FailoverPart> = FailoverPart::ALL
        .into_iter()
        .filter(|part| *part != FailoverPart::Programming)
        .collect();
    assert_eq!(parts(&world), expected);
    let took = |part: FailoverPart| {
        let mut parts = world.failovers.iter();
        let found = parts.find(|(of, _)| *of == part);
        found.map(|(_, took)| *took).unwrap()
    };
    // The time that the test itself waited.
    let three_seconds = Duration::from_millis(2900)..Duration::from_millis(3100);
    assert!(three_seconds.contains(&took(FailoverPart::Eviction)));
    assert!(three_seconds.contains(&took(FailoverPart::Scheduling)));
    let sum: Duration = expected
        .iter()
        .filter(|part| **part != FailoverPart::Total)
        .map(|part| took(*part))
        .sum();
    assert_eq!(sum, took(FailoverPart::Total));
    // An Unassign, an Assign, and a write.
    let call = Duration::from_millis(20);
    assert!(took(FailoverPart::Ec2) >= 2 * call);
    assert!(took(FailoverPart::Record) < call);
    // Nothing more is measured afterwards.
    world.run(Duration::from_mins(10));
    assert_eq!(parts(&world), expected);
}

/// How long this part took, if it has ended.
fn took(world: &Paced, part: FailoverPart) -> Option<Duration> {
    let mut parts = world.failovers.iter();
    let found = parts.find(|(of, _)| *of == part);
    found.map(|(_, took)| *took)
}

#[test]
fn a_next_pod_is_scheduled_when_it_is_bound() {
    let mut world = stopped();
    world.is_deleted("db");
    world.ends("db");
    world.pending_pod("db", 0);
    world.run(Duration::from_secs(5));
    assert_eq!(took(&world, FailoverPart::Scheduling), None);
    world.is_bound("db", 1);
    world.run(MOMENT);
    let scheduling = took(&world, FailoverPart::Scheduling);
    assert!(scheduling >= Some(Duration::from_secs(5)));
}

#[test]
fn programming_lasts_until_the_gate_is_true() {
    let mut world = stopped();
    world.change_blocks(|spec| spec.data_path = DataPath::NodePart);
    world.is_deleted("db");
    world.ends("db");
    world.pod("db", 0, 1);
    world.run(Duration::from_secs(10));
    assert_eq!(world.attached(1), 1);
    assert_eq!(parts(&world).last(), Some(&FailoverPart::Record));
    // The block does not use the node part from now on: this world has no node part.
    world.change_blocks(|spec| spec.data_path = DataPath::Foreign);
    world.run(MOMENT);
    assert_eq!(parts(&world), FailoverPart::ALL);
    let programming = took(&world, FailoverPart::Programming);
    assert!(programming >= Some(Duration::from_secs(9)));
}

#[test]
fn a_part_that_takes_too_long_ends_what_is_measured() {
    let mut world = stopped();
    world.run(Duration::from_mins(31));
    world.is_deleted("db");
    world.ends("db");
    world.pod("db", 0, 1);
    world.run(Duration::from_mins(1));
    assert_eq!(world.attached(1), 1);
    assert_eq!(parts(&world), [FailoverPart::Detection]);
}

#[test]
fn an_ip_that_is_made_again_has_no_failover_of_its_predecessor() {
    let mut world = stopped();
    world.is_deleted("db");
    world.ends("db");
    world.run(Duration::from_mins(5));
    world.kube.change_ip(&ip(0), None, |ip| ip.deleting = true);
    world.run(Duration::from_mins(5));
    assert!(world.kube.ips.is_empty());
    let measured = world.failovers.len();
    world.ip(0);
    world.pod("db", 0, 1);
    world.run(Duration::from_mins(1));
    assert_eq!(world.attached(1), 1);
    assert_eq!(world.failovers.len(), measured);
}

#[test]
fn a_failover_without_a_taint_of_ours_is_not_measured() {
    let mut world = Paced::new(2, 1, Reassign::Refuse);
    world.pod("db", 0, 0);
    world.run(Duration::from_secs(20));
    world.node_fails(0);
    world.ends("db");
    world.pod("db", 0, 1);
    world.run(Duration::from_mins(1));
    assert_eq!(world.attached(1), 1);
    assert_eq!(parts(&world), []);
}

#[test]
fn the_node_and_its_pods_get_one_event() {
    let mut world = stopped();
    world.run(Duration::from_mins(1));
    let reported = world.notices.iter();
    let reported: Vec<_> = reported
        .filter(|notice| notice.reason == Reason::OutOfService)
        .collect();
    assert!(matches!(reported[0].on, Regarding::Node(..)));
    assert!(matches!(reported[1].on, Regarding::Pod(..)));
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert!(reported[0].message.contains("is stopped"), "{reported:?}");
}
