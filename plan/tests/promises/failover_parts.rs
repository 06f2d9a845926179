//! Each part of a failover that a taint of ours begins is measured, once; and what is told of it.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::engine::FailoverPart;
use mooring_plan::reason::Reason;
use mooring_plan::step::Regarding;

use crate::paced::Paced;

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
    // What the test itself has taken.
    let three_seconds = Duration::from_millis(2900)..Duration::from_millis(3100);
    assert!(three_seconds.contains(&took(FailoverPart::Eviction)));
    assert!(three_seconds.contains(&took(FailoverPart::Scheduling)));
    let sum: Duration = expected
        .iter()
        .filter(|part| **part != FailoverPart::Total)
        .map(|part| took(*part))
        .sum();
    assert_eq!(sum, took(FailoverPart::Total));
    // Nothing more is measured afterwards.
    world.run(Duration::from_mins(10));
    assert_eq!(parts(&world), expected);
}

#[test]
fn a_failover_without_a_taint_of_ours_is_not_measured() {
    let mut world = Paced::new(2, 1, Reassign::Refuse);
    world.pod("db", 0, 0);
    world.run(Duration::from_secs(20));
    world.dies(0);
    world.ends("db");
    world.pod("db", 0, 1);
    world.run(Duration::from_mins(1));
    assert_eq!(world.attached(1), 1);
    assert_eq!(parts(&world), []);
}

#[test]
fn the_node_and_its_pods_are_told_once() {
    let mut world = stopped();
    world.run(Duration::from_mins(1));
    let told = world.notices.iter();
    let told: Vec<_> = told
        .filter(|notice| notice.reason == Reason::OutOfService)
        .collect();
    assert!(matches!(told[0].on, Regarding::Node(..)));
    assert!(matches!(told[1].on, Regarding::Pod(..)));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].message.contains("is stopped"), "{told:?}");
}
