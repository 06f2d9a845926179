//! The status after each step, not only at the end.

use mooring_plan::names::BlockName;
use mooring_plan::objects::Condition;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Read, StatusWrite, Step};

use crate::sim::{INTERVAL, Sim, address, status_write};

fn world() -> Sim {
    Sim::reserved(&["n1", "n2", "n3"])
}

/// The conditions `Reserved`, `Attached` and `Ready`.
fn all_conditions(sim: &Sim) -> [Condition; 3] {
    let conditions = sim.the_ip("partner").status.conditions.clone();
    let all = [conditions.reserved, conditions.attached, conditions.ready];
    all.map(Option::unwrap)
}

fn words(sim: &Sim) -> [(bool, Reason); 3] {
    all_conditions(sim).map(|condition| (condition.status, condition.reason))
}

const RESERVED: (bool, Reason) = (true, Reason::Reserved);

#[test]
fn an_ip_is_ready_if_reserved_and_attached_or_without_a_pod() {
    let mut sim = world();
    let unclaimed = (false, Reason::Unclaimed);
    assert_eq!(words(&sim), [RESERVED, unclaimed, (true, Reason::Ready)]);
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    let claimed = (false, Reason::Claimed);
    assert_eq!(words(&sim), [RESERVED, claimed, claimed]);
    let [_, attached, _] = all_conditions(&sim);
    let going = "203.0.113.10 goes to eni-n1 of node n1 for pod default/a";
    assert_eq!(attached.message, going);
    sim.settle();
    let attached = (true, Reason::Attached);
    assert_eq!(words(&sim), [RESERVED, attached, (true, Reason::Ready)]);
    let [reserved, attached, ready] = all_conditions(&sim);
    assert!(reserved.message.contains("203.0.113.10 of block block"));
    let there = "203.0.113.10 is on eni-n1 of node n1 for pod default/a";
    assert_eq!(
        (attached.message.as_str(), ready.message.as_str()),
        (there, there)
    );
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.step_until(status_write(StatusWrite::Detach));
    let leaving = (false, Reason::Detaching);
    assert_eq!(words(&sim), [RESERVED, leaving, leaving]);
}

#[test]
fn an_ip_without_its_reservation_is_not_ready_for_the_same_reason() {
    let mut sim = world();
    sim.ip("late", "203.0.113.10");
    sim.settle();
    let conditions = sim.the_ip("late").status.conditions.clone();
    let [reserved, ready] = [conditions.reserved, conditions.ready].map(Option::unwrap);
    assert_eq!(
        (reserved.status, reserved.reason),
        (false, Reason::AddressInUse)
    );
    assert_eq!(ready, reserved);
}

#[test]
fn an_edit_without_a_pod_is_one_status_write() {
    let mut sim = world();
    sim.count_from_here();
    sim.edit("partner", "203.0.113.20");
    sim.settle();
    sim.expect_cost(0, 1, 0);
    assert!(all_conditions(&sim)[0].message.contains("203.0.113.20"));
}

#[test]
fn an_edit_into_another_block_changes_the_block_too() {
    let mut sim = world();
    sim.change_block("block", |block| {
        if let Ok(spec) = &mut block.spec {
            spec.range = mooring_plan::block::BlockRange::parse("203.0.113.0/25", []).unwrap();
        }
    });
    sim.block("other", "203.0.113.128/25");
    sim.edit("partner", "203.0.113.200");
    sim.settle();
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.address, Some(address("203.0.113.200")));
    assert_eq!(status.block, Some(BlockName::from("other")));
}

#[test]
fn between_two_blocks_an_ip_has_no_address_and_keeps_its_block() {
    let mut sim = Sim::new();
    sim.ip_of_block("partner", "block");
    sim.block("other", "203.0.113.128/25");
    sim.settle();
    sim.change_spec("partner", |desired| {
        desired.block = Some(BlockName::from("other"));
    });
    sim.step_until(status_write(StatusWrite::Reserved));
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.address, None);
    assert_eq!(status.block, Some(BlockName::from("block")));
    sim.settle();
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.address, Some(address("203.0.113.128")));
    assert_eq!(status.block, Some(BlockName::from("other")));
}

#[test]
fn a_handover_reads_the_candidate_its_node_and_its_revision_first() {
    let mut sim = world();
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.next_revision("b", "n2", 2);
    sim.taken.clear();
    sim.step_until(status_write(StatusWrite::Claim));
    let read = |what: fn(&Read) -> bool| {
        let reads = |step: &Step| matches!(step, Step::Read(read) if what(read));
        sim.taken.iter().any(|(_, _, step)| reads(step))
    };
    assert!(read(
        |read| matches!(read, Read::Pod(key) if key.name == "b")
    ));
    assert!(read(
        |read| matches!(read, Read::Node(name) if name.as_str() == "n2")
    ));
    assert!(read(|read| matches!(read, Read::ReplicaSets(..))));
}

#[test]
fn an_unrecorded_claim_is_released_although_the_address_is_foreign() {
    let mut sim = world();
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    sim.found_on("203.0.113.10", Some("eni-n3"));
    sim.wait(INTERVAL);
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.settle();
    let claim = &sim.the_ip("partner").status.claim;
    assert_eq!(claim, &None, "{}", sim.story());
    sim.expect_on("203.0.113.10", Some("eni-n3"));
}
