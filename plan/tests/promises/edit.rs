//! A change of the address: the new one is reserved before the old one is released.
//! Rule: R4.6.

use std::time::Duration;

use mooring_plan::names::{BlockName, SubnetId};
use mooring_plan::reason::Reason;
use mooring_plan::step::StatusWrite;

use crate::sim::{INTERVAL, Sim, address, status_write};

#[test]
fn without_a_holder_only_the_reservation_changes() {
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
fn the_holder_keeps_the_claim_and_gets_the_new_address() {
    let mut sim = Sim::attached(&["n1"]);
    sim.edit("partner", "203.0.113.20");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_on("203.0.113.10", None);
    sim.expect_on("203.0.113.20", Some("eni-n1"));
    sim.expect_reserved_only("203.0.113.20");
    sim.expect_cost(2, 3, 2);
}

#[test]
fn a_new_address_in_use_changes_nothing_and_is_reported() {
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
fn an_edit_that_is_reverted_changes_nothing() {
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
fn another_block_is_refused_while_there_is_a_holder() {
    let mut sim = Sim::attached(&["n1"]);
    sim.block("second", "198.51.100.0/24");
    sim.change_spec("partner", |desired| {
        desired.address = None;
        desired.block = Some(BlockName::from("second"));
    });
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_not_reserved("partner", Reason::AddressChanging);
    assert_eq!(sim.counts.calls(), 0);
}

/// A late Assign can still put the address on an ENI that only an inventory of the present subnet shows.
#[test]
fn a_block_of_another_subnet_waits_until_the_last_place_is_proven_empty() {
    let mut sim = Sim::attached(&["n1"]);
    sim.block("second", "198.51.100.0/24");
    sim.change_block("second", |block| {
        block.spec.as_mut().unwrap().subnet = SubnetId::from("subnet-other");
    });
    sim.remove_pod("a");
    sim.step_until(status_write(StatusWrite::Clear));
    sim.change_spec("partner", |desired| {
        desired.address = None;
        desired.block = Some(BlockName::from("second"));
    });
    sim.wait(Duration::from_secs(5));
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.block, Some("block".into()), "{}", sim.story());
    sim.expect_not_reserved("partner", Reason::AddressChanging);
    sim.wait(INTERVAL * 3);
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.address, None, "{}", sim.story());
}

#[test]
fn a_block_of_another_subnet_waits_also_after_an_edit_to_a_full_block() {
    let mut sim = Sim::attached(&["n1"]);
    sim.block("full", "203.0.113.0/30");
    sim.block("second", "198.51.100.0/24");
    sim.change_block("second", |block| {
        block.spec.as_mut().unwrap().subnet = SubnetId::from("subnet-other");
    });
    sim.remove_pod("a");
    sim.step_until(status_write(StatusWrite::Clear));
    for block in ["full", "second"] {
        sim.change_spec("partner", |desired| {
            desired.address = None;
            desired.block = Some(BlockName::from(block));
        });
        sim.wait(Duration::from_secs(2));
        let status = &sim.the_ip("partner").status;
        let (address, present) = (status.address, status.block.clone());
        assert_eq!((address, present), (None, Some("block".into())));
    }
    sim.expect_not_reserved("partner", Reason::AddressChanging);
}

#[test]
fn a_second_edit_before_the_first_is_done() {
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
fn an_edit_back_and_forth_before_the_first_is_done() {
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
fn the_holder_is_deleted_during_an_edit() {
    for steps in 0..20 {
        let mut sim = Sim::edited_while_attached(steps);
        sim.delete_pod("a");
        sim.wait(Duration::from_millis(1));
        sim.remove_pod("a");
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
fn without_a_holder_another_block_gives_an_address_of_that_block() {
    let mut sim = Sim::new();
    sim.change_block("block", |block| {
        let range = mooring_plan::block::BlockRange::parse("203.0.113.0/26", []).unwrap();
        block.spec.as_mut().unwrap().range = range;
    });
    sim.block("second", "203.0.113.64/26");
    sim.ip_of_block("partner", "block");
    sim.settle();
    sim.change_spec("partner", |desired| {
        desired.block = Some(BlockName::from("second"));
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
fn the_old_address_is_released_after_two_inventories_without_it() {
    let mut sim = Sim::attached(&["n1"]);
    sim.edit("partner", "203.0.113.20");
    sim.wait(Duration::from_secs(1));
    sim.expect_attached("partner", "a");
    assert_eq!(sim.kube.reservations.len(), 2, "{}", sim.story());
    sim.wait(INTERVAL * 3);
    sim.expect_attached("partner", "a");
    sim.expect_reserved_only("203.0.113.20");
}
