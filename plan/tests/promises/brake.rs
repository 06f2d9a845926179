//! If many pods disappear and their deletion was not seen, the API server has probably lost data: nothing is released.
//! Rules: R7.2 to R7.5.

use std::time::Duration;

use mooring_plan::facts::{Affected, Fact, Kind};
use mooring_plan::names::{BlockName, ResourceVersion};
use mooring_plan::reason::Reason;
use mooring_plan::step::BlockStep;

use crate::sim::Sim;

pub fn ten() -> Sim {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    for n in 0..10 {
        sim.ip(&format!("ip{n}"), &format!("203.0.113.{}", 10 + n));
        let node = if n % 2 == 0 { "n1" } else { "n2" };
        sim.pod(&format!("p{n}")).on(node).asks(&format!("ip{n}"));
    }
    sim.settle();
    for n in 0..10 {
        sim.expect_attached(&format!("ip{n}"), &format!("p{n}"));
    }
    sim.count_from_here();
    sim
}

#[test]
fn pods_that_vanish_at_once_keep_their_addresses() {
    let mut sim = ten();
    let pods = sim.kube.pods.clone();
    sim.kube.pods.clear();
    sim.relist(0);
    sim.wait(Duration::from_hours(1));
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    // The pods are seen again.
    sim.kube.pods = pods;
    sim.relist(0);
    sim.settle();
    sim.expect_attached("ip3", "p3");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn a_restart_does_not_release_them_either() {
    let mut sim = ten();
    sim.kube.pods.clear();
    sim.restart(0);
    sim.wait(Duration::from_hours(1));
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn a_person_can_confirm_that_they_are_gone() {
    let mut sim = ten();
    sim.kube.pods.clear();
    sim.relist(0);
    sim.wait(Duration::from_mins(10));
    sim.change_block("block", |block| block.release_brake = true);
    sim.settle();
    for n in 0..10 {
        sim.expect_free(&format!("ip{n}"));
    }
}

#[test]
fn a_move_to_a_successor_does_not_wait_for_it() {
    let mut sim = ten();
    sim.kube.pods.clear();
    sim.pod("next").on("n2").asks("ip0");
    sim.relist(0);
    sim.wait(Duration::from_secs(5));
    sim.expect_attached("ip0", "next");
    assert_eq!(sim.counts.calls(), 2, "{}", sim.story());
}

#[test]
fn the_condition_and_the_event_name_ips_and_pods() {
    let mut sim = ten();
    sim.kube.pods.retain(|key, _| key.name.as_str() >= "p7");
    sim.relist(0);
    sim.wait(Duration::from_secs(10));
    let (steps, notices) = sim.controllers[0]
        .facts()
        .block_steps(&BlockName::from("block"), sim.now);
    let written = steps.into_iter().find_map(|step| match step {
        BlockStep::Status { status, .. } => status.conditions.get("BrakeEngaged").cloned(),
        _ => None,
    });
    let event = notices.iter().find(|it| it.reason == Reason::BrakeEngaged);
    for message in [&written.unwrap().message, &event.unwrap().message] {
        let all = "IP ip0 (pod default/p0), IP ip1 (pod default/p1), IP ip2 (pod default/p2), \
                   IP ip3 (pod default/p3), IP ip4 (pod default/p4) and 2 more.";
        assert!(message.contains(all), "{message}");
    }
}

fn engaged(sim: &Sim) -> bool {
    sim.controllers[0]
        .facts()
        .brake_engaged(&BlockName::from("block"))
}

#[test]
fn a_restored_api_server_without_pods_releases_none() {
    let mut sim = Sim::attached(&["n1"]);
    let backup = sim.kube.clone();
    sim.change_node("n1", |node| node.ready = false);
    sim.change_node("n1", |node| node.ready = true);
    // The version of each list is read from time to time.
    sim.relist(0);
    sim.wait(Duration::from_secs(1));
    sim.count_from_here();
    sim.kube = backup;
    let pods = std::mem::take(&mut sim.kube.pods);
    sim.relist(0);
    sim.wait(Duration::from_hours(1));
    assert!(engaged(&sim), "{}", sim.story());
    sim.expect_cost(0, 0, 0);
    sim.expect_on("203.0.113.10", Some("eni-n1"));
    // The pods are back, and the brake ends.
    sim.kube.pods = pods;
    sim.relist(0);
    sim.settle();
    assert!(!engaged(&sim), "{}", sim.story());
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
}

/// This number of IPs, each held by a pod.
pub fn held(sim: &mut Sim, count: u8) {
    for node in ["n1", "n2", "n3"] {
        sim.node(node);
    }
    for n in 0..count {
        sim.ip(&format!("ip{n}"), &format!("203.0.113.{}", 10 + n));
        let node = ["n1", "n2", "n3"][usize::from(n) % 3];
        sim.pod(&format!("p{n}")).on(node).asks(&format!("ip{n}"));
    }
    sim.settle();
}

pub fn vanish(sim: &mut Sim, count: u8) {
    for n in 0..count {
        sim.remove_pod(&format!("p{n}"));
    }
    sim.relist(0);
    sim.wait(Duration::from_mins(10));
}

#[test]
fn after_a_restore_only_a_person_releases_the_brake() {
    let mut sim = Sim::new();
    held(&mut sim, 4);
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::Restored(Kind::Pod), now, now);
    // The watch shows the block again, first unchanged and then changed.
    sim.change_block("block", |block| block.generation += 1);
    vanish(&mut sim, 1);
    assert!(sim.the_ip("ip0").status.claim.is_some(), "{}", sim.story());
    sim.change_block("block", |block| block.release_brake = true);
    sim.settle();
    sim.expect_free("ip0");
}

#[test]
fn a_confirmation_for_one_block_does_not_apply_to_another() {
    let mut sim = Sim::new();
    held(&mut sim, 4);
    sim.block("other", "203.0.114.0/24");
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::Restored(Kind::Pod), now, now);
    sim.change_block("other", |block| block.release_brake = true);
    vanish(&mut sim, 1);
    assert!(sim.the_ip("ip0").status.claim.is_some(), "{}", sim.story());
    sim.change_block("block", |block| block.release_brake = true);
    sim.settle();
    sim.expect_free("ip0");
}

#[test]
fn after_a_restore_objects_with_lower_versions_are_accepted() {
    let mut sim = Sim::new();
    held(&mut sim, 1);
    let ip = sim.the_ip("ip0").clone();
    let pod = sim.kube.pods.values().next().unwrap().clone();
    let reservation = sim.kube.reservations.values().next().unwrap().clone();
    let shown = |version| {
        let (mut ip, mut pod, mut reservation) = (ip.clone(), pod.clone(), reservation.clone());
        ip.version = version;
        pod.version = version;
        reservation.version = version;
        [
            (Kind::Ip, Fact::Ip(ip)),
            (Kind::Pod, Fact::Pod(pod)),
            (Kind::Reservation, Fact::Reservation(reservation)),
        ]
    };
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    for (kind, fact) in shown(ResourceVersion(1)) {
        let affected = facts.apply(fact, now, now);
        assert_eq!(affected, Affected::Nothing, "an earlier {kind:?}");
    }
    for (kind, fact) in shown(ResourceVersion(2)) {
        facts.apply(Fact::Restored(kind), now, now);
        let affected = facts.apply(fact, now, now);
        assert_eq!(
            affected,
            Affected::One("ip0".into()),
            "a {kind:?} of a backup"
        );
    }
}
