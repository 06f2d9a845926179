//! The places in `status.previous`: each is listed as long as it can have the address, and not longer.
//! Rules: R4.16, R4.18, R4.19.

use std::time::Duration;

use mooring_plan::names::InterfaceId;
use mooring_plan::reason::Reason;
use mooring_plan::step::{StatusWrite, Step, Write};

use crate::sim::{Fault, INTERVAL, Sim, address, interface_of};

fn is_claim(step: &Step) -> bool {
    matches!(
        step,
        Step::Write(Write::Status {
            change: StatusWrite::Claim,
            ..
        })
    )
}

fn is_record(step: &Step) -> bool {
    matches!(
        step,
        Step::Write(Write::Status {
            change: StatusWrite::Record,
            ..
        })
    )
}

/// The IP of pod "a" on n1 was edited from 203.0.113.10 to 203.0.113.20; the old address is still attached.
fn edited() -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2", "n3"]);
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.edit("partner", "203.0.113.20");
    sim
}

/// The places of the address before the edit in `previous` when the claim of a successor is written.
fn old_places_in_a_move(sim: &mut Sim) -> Vec<InterfaceId> {
    sim.next_revision("b", "n2", 2);
    sim.step_until(is_claim);
    let previous = &sim.the_ip("partner").status.previous;
    let old = address("203.0.113.10");
    let of_old = previous.iter().filter(|entry| entry.address == old);
    of_old.map(|entry| entry.interface.clone()).collect()
}

#[test]
fn an_old_address_is_forgotten_after_two_inventories_without_it() {
    let mut sim = edited();
    sim.step_until(is_record);
    let named = old_places_in_a_move(&mut sim);
    assert_eq!(named, [interface_of("n1")], "{}", sim.story());

    let mut sim = edited();
    sim.step_until(is_record);
    sim.wait(INTERVAL * 3);
    let named = old_places_in_a_move(&mut sim);
    assert!(named.is_empty(), "{}", sim.story());
}

#[test]
fn an_old_address_is_remembered_where_a_foreign_client_put_it() {
    let mut sim = edited();
    sim.step_until(is_record);
    sim.found_on("203.0.113.10", Some("eni-n1"));
    sim.wait(INTERVAL * 3);
    let named = old_places_in_a_move(&mut sim);
    assert_eq!(named, [interface_of("n1")], "{}", sim.story());
}

#[test]
fn an_old_address_is_forgotten_even_while_it_is_reserved() {
    let mut sim = edited();
    sim.refuses = |write| matches!(write, Write::Release(_));
    sim.wait(INTERVAL * 3);
    let named = old_places_in_a_move(&mut sim);
    assert!(named.is_empty(), "{}", sim.story());
    sim.refuses = |_| false;
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_reserved_only("203.0.113.20");
}

#[test]
fn an_old_address_is_remembered_where_the_new_one_was_refused() {
    let mut sim = edited();
    sim.step_until(is_record);
    old_places_in_a_move(&mut sim);
    sim.wait(Duration::from_millis(100));
    sim.expect_attached("partner", "b");
    sim.ec2.faults.extend([Fault::None, Fault::NoRoom]);
    sim.next_revision("c", "n1", 3);
    let back = |step: &Step| {
        matches!(
            step,
            Step::Write(Write::Status {
                change: StatusWrite::Revert,
                ..
            })
        )
    };
    sim.step_until(back);
    let previous = &sim.the_ip("partner").status.previous;
    let places = previous
        .iter()
        .map(|entry| (entry.address, &entry.interface));
    let n1 = interface_of("n1");
    let expected = [
        (address("203.0.113.10"), &n1),
        (address("203.0.113.20"), &n1),
    ];
    assert_eq!(places.collect::<Vec<_>>(), expected, "{}", sim.story());
}

#[test]
fn the_place_with_the_address_is_not_forgotten_among_nine() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    for n in 0..12 {
        sim.node(&format!("n{n}"));
    }
    sim.pod("p0").on("n0");
    sim.settle();
    sim.ec2.faults.extend([Fault::RequestLost; 1000]);
    for n in 1..12 {
        sim.pod(&format!("p{n}")).on(&format!("n{n}"));
        sim.remove_pod(&format!("p{}", n - 1));
        sim.wait(INTERVAL * 2);
    }
    let previous = &sim.the_ip("partner").status.previous;
    assert_eq!(previous.len(), 8, "{}", sim.story());
    assert_eq!(
        previous[0].interface,
        interface_of("n0"),
        "the oldest has it"
    );
    sim.ec2.faults.clear();
    sim.settle();
    sim.expect_attached("partner", "p11");
}

#[test]
fn a_pod_that_gets_its_place_back_is_not_among_the_places_before() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.next_revision("b", "n2", 2);
    sim.step_until(|step| matches!(step, Step::Write(Write::Gate(gate)) if gate.status));
    sim.expect_attached("partner", "b");
    sim.delete_pod("b");
    sim.deliver(0);
    sim.remove_pod("b");
    let claims = |step: &Step| {
        matches!(
            step,
            Step::Write(Write::Status {
                change: StatusWrite::Claim,
                ..
            })
        )
    };
    sim.step_until(claims);
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.claim.as_ref().unwrap().pod.name, "a");
    let mut places = status.previous.iter().map(|entry| entry.interface.as_str());
    assert!(places.all(|on| on != "eni-n1"), "{status:?}");
}

#[test]
fn a_node_that_is_another_machine_now_is_named_with_that_machine() {
    let mut sim = Sim::attached(&["n1"]);
    sim.change_node("n1", |node| node.instance = Some("i-other".into()));
    sim.settle();
    sim.expect_reason("partner", Reason::NoEligibleNode);
    let conditions = &sim.the_ip("partner").status.conditions;
    let message = &conditions.attached.as_ref().unwrap().message;
    let now = "node n1 is instance i-other now, which has no usable interface";
    assert!(message.starts_with(now), "{message}");
}
