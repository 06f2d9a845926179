//! What a block says of the brake, and when the confirmation of a user is removed.
//! Rules: R7.2, R7.3.

use mooring_plan::facts::{Fact, Kind};
use mooring_plan::reason::Reason;
use mooring_plan::step::{BlockStep, Write};

use super::{condition, name, settle_block, steps, world};
use crate::sim::{Fault, INTERVAL, Sim};

/// Four pods with addresses vanished, and their deletion was not seen.
fn four_vanished() -> Sim {
    let mut sim = world();
    for n in 1..=3 {
        sim.ip(&format!("ip{n}"), &format!("203.0.113.{}", 100 + n));
        sim.pod(&format!("p{n}")).on("n2").asks(&format!("ip{n}"));
    }
    sim.settle();
    sim.kube.pods.clear();
    sim.relist(0);
    sim.wait(INTERVAL);
    sim
}

fn drops_release_brake(sim: &mut Sim) -> bool {
    let drops = |step: &BlockStep| matches!(step, BlockStep::DropReleaseBrake { .. });
    steps(sim).iter().any(drops)
}

#[test]
fn the_brake_is_reported_with_a_remedy() {
    let mut sim = four_vanished();
    let brake = condition(&mut sim, "BrakeEngaged");
    assert_eq!((brake.status, brake.reason), (true, Reason::BrakeEngaged));
    let named = brake.message.contains("IP partner (pod default/a)");
    assert!(named, "{brake:?}");
    assert!(brake.message.contains("ip.wgtwo.com/release-brake"));
    // The annotation `release-brake` stays until it was used.
    sim.change_block("block", |block| block.release_brake = true);
    assert!(!drops_release_brake(&mut sim), "four wait");
    sim.settle();
    sim.expect_free("partner");
    assert!(drops_release_brake(&mut sim), "none waits");
    settle_block(&mut sim);
    assert!(!sim.kube.blocks[&name()].release_brake);
    assert!(!drops_release_brake(&mut sim), "once");
}

#[test]
fn a_new_leader_does_not_drop_a_confirmation_before_it_has_an_effect() {
    for restarts in [true, false] {
        let mut sim = four_vanished();
        sim.change_block("block", |block| block.release_brake = true);
        if restarts {
            sim.restart(0);
        } else {
            sim.lead(0);
        }
        assert!(!drops_release_brake(&mut sim), "no holder was looked for");
        // Each is read twice, a minute apart.
        sim.wait(INTERVAL / 2);
        assert!(!drops_release_brake(&mut sim), "four wait");
        sim.settle();
        for name in ["partner", "ip1", "ip2", "ip3"] {
            sim.expect_free(name);
        }
        assert!(drops_release_brake(&mut sim), "none waits");
    }
}

#[test]
fn a_confirmation_does_not_wait_for_a_holder_that_only_a_read_finds() {
    let mut sim = world();
    settle_block(&mut sim);
    // A foreign client removed its label, and it cannot be restored.
    sim.refuses = |write| matches!(write, Write::Label { .. });
    sim.change_pod("a", |pod| pod.label = None);
    sim.relist(0);
    sim.wait(INTERVAL);
    sim.change_block("block", |block| block.release_brake = true);
    assert!(drops_release_brake(&mut sim), "{}", sim.story());
}

#[test]
fn a_confirmation_does_not_wait_for_a_detach_of_a_pod_whose_end_was_seen() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.remove_pod("a");
    sim.wait(INTERVAL);
    sim.expect_on("203.0.113.10", Some("eni-n1"));
    sim.change_block("block", |block| block.release_brake = true);
    assert!(drops_release_brake(&mut sim), "{}", sim.story());
}

#[test]
fn a_restored_api_server_without_missing_holders_engages_no_brake() {
    let mut sim = world();
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::Restored(Kind::Pod), now, now);
    assert!(!condition(&mut sim, "BrakeEngaged").status);
}
