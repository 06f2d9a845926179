//! An address of a block that is on an ENI, and that no IP explains, is reported on the block.
//! Rules: R5.21, R5.22.

use std::time::Duration;

use mooring_plan::facts::Fact;
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::{UnreadableIp, UnreadableReport};
use mooring_plan::reason::Reason;
use mooring_plan::step::{BlockStep, Notice, Step, Write};

use super::{condition, look, settle_block, world};
use crate::sim::{INTERVAL, Sim};

#[test]
fn an_orphan_is_reported_with_a_remedy() {
    let mut sim = world();
    sim.found_on("203.0.113.77", Some("eni-n2"));
    sim.wait(INTERVAL);
    let orphan = condition(&mut sim, "OrphanedAddress");
    assert!(!orphan.status, "one look proves nothing");
    // It must not say that the address has an IP.
    let none = "no movable address of the block is on an interface without an IP";
    assert_eq!(orphan.message, none);
    sim.wait(INTERVAL);
    let orphan = condition(&mut sim, "OrphanedAddress");
    assert_eq!(
        (orphan.status, orphan.reason),
        (true, Reason::OrphanedAddress)
    );
    let notices = look(&mut sim).1;
    assert_eq!(notices.len(), 1, "{notices:?}");
    let sentence = "no IP explains 203.0.113.77 on eni-n2: unassign it there";
    assert!(notices[0].message.starts_with(sentence), "{notices:?}");
    // An IP with that address explains it when it has reserved it.
    sim.ip("late", "203.0.113.77");
    sim.settle();
    assert!(!condition(&mut sim, "OrphanedAddress").status);
}

#[test]
fn an_orphan_on_an_instance_that_is_no_node_is_not_to_be_unassigned_in_haste() {
    let mut sim = world();
    sim.interface("eni-far", "n3");
    sim.found_on("203.0.113.77", Some("eni-far"));
    sim.found_on("203.0.113.78", Some("eni-n2"));
    sim.wait(INTERVAL * 2);
    let orphan = condition(&mut sim, "OrphanedAddress");
    assert_eq!(
        (orphan.status, orphan.reason),
        (true, Reason::OrphanedAddress)
    );
    let message = orphan.message;
    let here = "no IP explains 203.0.113.78 on eni-n2: unassign it there";
    assert!(message.starts_with(here), "{message}");
    let far = ". no IP explains 203.0.113.77 on eni-far, on an instance that is no node of this cluster: another cluster \
               or program may use it. Do not unassign it before you know";
    assert!(message.contains(far), "{message}");
    assert!(
        look(&mut sim)
            .1
            .iter()
            .any(|notice| notice.message == message),
        "the Event says the same"
    );
    // The instance becomes a node.
    sim.node("n3");
    let message = condition(&mut sim, "OrphanedAddress").message;
    let here = "no IP explains 203.0.113.77 on eni-far, 203.0.113.78 on eni-n2: unassign it there";
    assert!(message.starts_with(here), "{message}");
}

#[test]
fn the_address_of_an_ip_that_was_never_readable_is_no_orphan() {
    let mut sim = world();
    settle_block(&mut sim);
    let ip = sim.the_ip("partner").clone();
    let unreadable = UnreadableIp {
        name: ip.name.clone(),
        uid: ip.uid.clone(),
        version: ResourceVersion(ip.version.0 + 1),
        problem: "it is garbage".to_owned(),
        report: UnreadableReport::NotWritable,
    };
    let (now, facts) = (sim.now, sim.controllers[0].facts_mut());
    facts.apply(Fact::IpGone(ip.name, ip.uid), now, now);
    facts.apply(Fact::IpUnreadable(unreadable), now, now);
    sim.wait(INTERVAL * 4);
    assert!(!condition(&mut sim, "OrphanedAddress").status);
}

#[test]
fn a_released_address_is_not_reported_as_an_orphan() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.remove_pod("a");
    sim.delete_ip("partner");
    // The last inventory was begun before the address was detached, and shows it.
    let mut gone = false;
    while !gone {
        let step = sim.step_until(|_| true);
        gone = matches!(step, Step::Write(Write::RemoveFinalizer { .. }));
        assert!(!orphaned(&mut sim), "after {step:?}");
    }
    sim.expect_gone("partner");
    for _ in 0..3 {
        sim.wait(INTERVAL);
        assert!(!orphaned(&mut sim));
    }
}

/// The former leader has detached the address right before, and Describe is late.
#[test]
fn a_new_leader_reports_no_address_that_was_just_released() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.remove_pod("a");
    sim.delete_ip("partner");
    let last = |step: &Step| matches!(step, Step::Write(Write::RemoveFinalizer { .. }));
    sim.step_until(last);
    sim.expect_gone("partner");
    sim.ec2.lag = Duration::from_secs(8);
    sim.restart(0);
    let until = sim.now.plus(INTERVAL * 4);
    while sim.now < until {
        sim.wait(Duration::from_millis(500));
        assert!(!orphaned(&mut sim), "{}", sim.story());
    }
    // What is left behind is reported by the new leader too.
    sim.found_on("203.0.113.10", Some("eni-n2"));
    sim.wait(INTERVAL * 3);
    assert!(orphaned(&mut sim));
}

/// True if the next status or an Event reports an orphaned address.
fn orphaned(sim: &mut Sim) -> bool {
    let (steps, notices) = look(sim);
    let reports_orphan = |notice: &Notice| notice.reason == Reason::OrphanedAddress;
    notices.iter().any(reports_orphan)
        || steps.iter().any(|step| match step {
            BlockStep::Status { status, .. } => status.conditions["OrphanedAddress"].status,
            _ => false,
        })
}

#[test]
fn inventories_before_the_deletion_of_an_ip_show_no_orphan() {
    let mut sim = world();
    sim.wait(INTERVAL);
    settle_block(&mut sim);
    // Another process detaches and releases it: this one receives only the release.
    sim.remove_pod("a");
    sim.kube.ips.remove(&IpName::from("partner"));
    sim.kube.bump();
    assert!(!orphaned(&mut sim), "both inventories are of its time");
    sim.wait(INTERVAL);
    assert!(!orphaned(&mut sim), "one of the two still is");
    sim.wait(INTERVAL);
    assert!(orphaned(&mut sim), "it was left behind indeed");
}

#[test]
fn an_address_outside_the_block_is_no_orphan() {
    let mut sim = world();
    sim.change_block("block", |block| {
        if let Ok(spec) = &mut block.spec {
            spec.range =
                mooring_plan::block::BlockRange::parse("203.0.113.0/26", ["203.0.113.60"]).unwrap();
        }
    });
    sim.found_on("203.0.113.77", Some("eni-n2"));
    sim.found_on("203.0.113.60", Some("eni-n2"));
    sim.wait(INTERVAL * 2);
    assert!(!condition(&mut sim, "OrphanedAddress").status);
}
