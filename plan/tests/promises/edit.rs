//! An address is changed: the new one is reserved first, only then is the old one let go.

use mooring_plan::names::{BlockName, Millis};
use mooring_plan::reason::Reason;

use crate::sim::{Sim, address};

#[test]
fn while_nobody_holds_it_only_the_reservation_changes() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.edit("partner", "203.0.113.20");
    sim.settle();
    sim.expect_free("partner");
    assert_eq!(
        sim.the_ip("partner").status.address,
        Some(address("203.0.113.20"))
    );
    assert_eq!(sim.kube.reservations.len(), 1, "{}", sim.story());
}

#[test]
fn while_a_pod_holds_it_the_pod_keeps_the_claim_and_gets_the_new_one() {
    let mut sim = Sim::attached(&["n1"]);
    sim.edit("partner", "203.0.113.20");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.10", None);
    sim.expect_on("203.0.113.20", Some("eni-n1"));
    sim.expect_reserved_only("203.0.113.20");
    sim.expect_cost(2, 2, 2);
}

#[test]
fn a_new_one_that_is_taken_changes_nothing_and_says_so() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ip("other", "203.0.113.20");
    sim.settle();
    sim.count_from_here();
    sim.edit("partner", "203.0.113.20");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.10", Some("eni-n1"));
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    assert_eq!(sim.counts.calls(), 0);
    sim.delete_ip("other");
    sim.settle();
    sim.expect_on("203.0.113.20", Some("eni-n1"));
    sim.expect_attached("partner", "a");
}

#[test]
fn taken_and_taken_back_it_stays_as_it_was() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ip("other", "203.0.113.20");
    sim.edit("partner", "203.0.113.20");
    sim.settle();
    sim.edit("partner", "203.0.113.10");
    sim.settle();
    sim.expect_attached("partner", "a");
    assert!(
        sim.the_ip("partner")
            .status
            .conditions
            .reserved
            .as_ref()
            .unwrap()
            .status,
        "{}",
        sim.story()
    );
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn another_block_is_refused_while_a_pod_holds_it() {
    let mut sim = Sim::attached(&["n1"]);
    sim.block("second", "198.51.100.0/24");
    sim.change_wish("partner", |wish| {
        wish.address = None;
        wish.block = Some(BlockName::from("second"));
    });
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_not_reserved("partner", Reason::AddressChanging);
    assert_eq!(sim.counts.calls(), 0);
}

#[test]
fn changed_again_before_the_first_change_is_done() {
    for steps in 0..20 {
        let mut sim = Sim::edited_while_attached(steps);
        sim.edit("partner", "203.0.113.30");
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.expect_on("203.0.113.30", Some("eni-n1"));
        sim.expect_on("203.0.113.20", None);
        sim.expect_on("203.0.113.10", None);
        assert_eq!(
            sim.kube.reservations.len(),
            1,
            "after {steps}\n{}",
            sim.story()
        );
    }
}

#[test]
fn back_and_forth_before_the_first_change_is_done() {
    for steps in 0..20 {
        let mut sim = Sim::edited_while_attached(steps);
        sim.edit("partner", "203.0.113.10");
        sim.settle();
        sim.expect_attached("partner", "a");
        sim.expect_on("203.0.113.10", Some("eni-n1"));
        sim.expect_on("203.0.113.20", None);
        assert_eq!(
            sim.kube.reservations.len(),
            1,
            "after {steps}\n{}",
            sim.story()
        );
    }
}

#[test]
fn the_holder_goes_in_the_middle_of_the_change() {
    for steps in 0..20 {
        let mut sim = Sim::edited_while_attached(steps);
        sim.delete_pod("a");
        sim.wait(Millis(1));
        sim.pod_goes("a");
        sim.settle();
        sim.expect_free("partner");
        sim.expect_on("203.0.113.20", None);
        sim.expect_on("203.0.113.10", None);
        assert_eq!(
            sim.kube.reservations.len(),
            1,
            "after {steps}\n{}",
            sim.story()
        );
        assert_eq!(
            sim.the_ip("partner").status.address,
            Some(address("203.0.113.20"))
        );
    }
}

#[test]
fn another_block_while_nobody_holds_it_gives_an_address_of_that_block() {
    let mut sim = Sim::new();
    sim.change_block("block", |block| {
        let range = mooring_plan::block::BlockRange::parse("203.0.113.0/26", []).unwrap();
        block.spec.as_mut().unwrap().range = range;
    });
    sim.block("second", "203.0.113.64/26");
    sim.ip_of_block("partner", "block");
    sim.settle();
    sim.change_wish("partner", |wish| {
        wish.block = Some(BlockName::from("second"));
    });
    sim.settle();
    sim.expect_free("partner");
    assert_eq!(
        sim.the_ip("partner").status.address,
        Some(address("203.0.113.64")),
        "{}",
        sim.story()
    );
    assert_eq!(sim.kube.reservations.len(), 1, "{}", sim.story());
    sim.edit("partner", "203.0.113.70");
    sim.settle();
    assert_eq!(
        sim.the_ip("partner").status.address,
        Some(address("203.0.113.70"))
    );
    assert_eq!(sim.kube.reservations.len(), 1, "{}", sim.story());
}

#[test]
fn the_old_one_that_was_recorded_is_let_go_at_once() {
    let mut sim = Sim::attached(&["n1"]);
    sim.edit("partner", "203.0.113.20");
    sim.wait(Millis::seconds(1));
    sim.expect_attached("partner", "a");
    sim.expect_reserved_only("203.0.113.20");
}
