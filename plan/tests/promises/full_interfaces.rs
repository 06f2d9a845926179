//! A target that EC2 refuses for good, most often because its ENI is full, returns the claim.
//! Rule: R5.3.

use std::time::Duration;

use mooring_plan::reason::Reason;
use mooring_plan::step::{Step, Write};

use crate::sim::{Fault, Sim};

const NODES: [&str; 3] = ["n1", "n2", "n3"];

#[test]
fn a_target_that_is_unexpectedly_full_returns_the_claim() {
    for reassign in [false, true] {
        let mut sim = Sim::attached_and_ready(&NODES);
        sim.settle_reassignment(reassign);
        sim.next_revision("b", "n2", 2);
        // Other programs fill the ENI faster than inventories show.
        sim.ec2
            .faults
            .extend(if reassign { vec![] } else { vec![Fault::None] });
        sim.ec2.faults.push_back(Fault::NoRoom);
        sim.wait(Duration::from_secs(5));
        assert_eq!(
            sim.the_ip("partner")
                .status
                .claim
                .as_ref()
                .unwrap()
                .pod
                .name,
            "a",
            "{}",
            sim.story()
        );
        let refused = sim.the_ip("partner").status.refused.clone().unwrap();
        assert_eq!(refused.interface.as_str(), "eni-n2");
        sim.settle();
        sim.expect_attached("partner", "b");
    }
}

#[test]
fn without_a_former_holder_a_refused_target_frees_the_address() {
    let mut sim = Sim::reserved(&NODES);
    sim.ec2.faults.push_back(Fault::NoRoom);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(3));
    assert!(
        sim.the_ip("partner").status.refused.is_some(),
        "{}",
        sim.story()
    );
    assert!(
        sim.the_ip("partner").status.claim.is_none(),
        "{}",
        sim.story()
    );
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_full_interface_is_not_claimed_and_the_holder_keeps_the_address() {
    let mut sim = Sim::attached_and_ready(&NODES);
    sim.interface("eni-x", "nx");
    for last in 100..109 {
        sim.found_on(&format!("203.0.113.{last}"), Some("eni-n2"));
    }
    sim.settle();
    sim.next_revision("b", "n2", 2);
    sim.count_from_here();
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_event("b", Reason::NodeFull);
    sim.expect_denied("b", Reason::NodeFull);
    sim.expect_cost(0, 0, 1);
    sim.found_on("203.0.113.100", None);
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn an_interface_that_ec2_calls_full_although_its_limit_is_unknown_is_reported_as_full() {
    let mut sim = Sim::attached_and_ready(&NODES);
    for last in 100..109 {
        sim.found_on(&format!("203.0.113.{last}"), Some("eni-n2"));
    }
    sim.change_node("n2", |node| node.instance_type = None);
    sim.settle();
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_mins(5));
    sim.expect_attached("partner", "a");
    let refused = sim.the_ip("partner").status.refused.clone().unwrap();
    assert_eq!(refused.reason, Reason::NodeFull);
    sim.expect_denied("b", Reason::NodeFull);
    sim.expect_event("b", Reason::NodeFull);
    assert!(!sim.rules.reported("b", Reason::AttachFailed));
}

#[test]
fn a_move_on_the_same_full_interface_works() {
    let mut sim = Sim::attached_and_ready(&NODES);
    for last in 100..108 {
        sim.found_on(&format!("203.0.113.{last}"), Some("eni-n1"));
    }
    sim.settle();
    sim.count_from_here();
    sim.next_revision("b", "n1", 2);
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_cost(0, 2, 2);
}

#[test]
fn a_deleted_interface_returns_the_claim() {
    let mut sim = Sim::attached_and_ready(&NODES);
    sim.next_revision("b", "n2", 2);
    sim.step_until(|step| matches!(step, Step::Call(_)));
    sim.ec2.delete_interface(&crate::sim::interface_of("n2"));
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_replaced_machine_returns_the_claim() {
    for reassign in [false, true] {
        let mut sim = Sim::attached_and_ready(&NODES);
        sim.settle_reassignment(reassign);
        sim.next_revision("b", "n2", 2);
        sim.step_until(|step| matches!(step, Step::Write(Write::Status { .. })));
        sim.change_node("n2", |node| node.instance = Some("i-other".into()));
        sim.count_from_here();
        sim.settle();
        sim.expect_attached("partner", "a");
        assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    }
}
