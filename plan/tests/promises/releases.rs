//! A reservation is released only when the address is proven to be on none of our ENIs, without more calls than this
//! proof needs.
//! Rules: R2.21, R5.18, R5.19.

use std::time::Duration;

use mooring_plan::cloud::InstanceState;
use mooring_plan::facts::{CallError, Fact};
use mooring_plan::names::IpName;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, StatusWrite, Step};

use crate::sim::{Fault, INTERVAL, Sim, address, interface_of, status_write};

const ADDRESS: &str = "203.0.113.10";

fn world() -> Sim {
    Sim::reserved(&["n1", "n2", "n3"])
}

fn attached() -> Sim {
    Sim::attached_by_deployment(&["n1", "n2", "n3"])
}

fn goes(sim: &mut Sim, pod: &str) {
    sim.delete_pod(pod);
    sim.deliver(0);
    sim.remove_pod(pod);
}

fn calls(sim: &Sim) -> Vec<&Call> {
    let calls = sim.taken.iter().filter_map(|(_, _, step)| match step {
        Step::Call(call) => Some(call),
        _ => None,
    });
    calls.collect()
}

#[test]
fn an_ip_that_was_just_detached_is_deleted_without_another_call() {
    for restart in [false, true] {
        let mut sim = attached();
        goes(&mut sim, "a");
        sim.step_until(status_write(StatusWrite::Clear));
        if restart {
            sim.restart(0);
        }
        sim.delete_ip("partner");
        sim.settle();
        sim.expect_gone("partner");
        assert_eq!(sim.counts.unassigns, 1, "{}", sim.story());
    }
}

#[test]
fn a_late_assign_during_a_detach_is_undone_after_two_inventories() {
    let mut sim = world();
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    goes(&mut sim, "a");
    sim.step_until(|step| matches!(step, Step::Call(Call::Unassign { .. })));
    let now = sim.now;
    let late = Call::Assign {
        interface: interface_of("n1"),
        address: address(ADDRESS),
        reassign: mooring_plan::cloud::Reassign::default(),
    };
    sim.ec2.execute(&late, now).unwrap();
    let looks = sim.counts.inventories;
    sim.step_until(|step| matches!(step, Step::Call(Call::Unassign { .. })));
    assert!(sim.counts.inventories >= looks + 2, "{}", sim.story());
    sim.settle();
    sim.expect_free("partner");
    assert_eq!(sim.counts.unassigns, 2, "{}", sim.story());
}

#[test]
fn a_call_is_repeated_while_inventories_show_an_interface_that_ec2_did_not_find() {
    let mut sim = attached();
    goes(&mut sim, "a");
    sim.step_until(status_write(StatusWrite::Detach));
    let not_found = CallError::new(Outcome::InterfaceNotFound, "");
    let call = Call::Unassign {
        interface: interface_of("n1"),
        address: address(ADDRESS),
    };
    let name = IpName::from("partner");
    let fact = Fact::Called {
        ip: name,
        call,
        result: Err(not_found),
    };
    let now = sim.now;
    sim.controllers[0].facts_mut().apply(fact, now, now);
    sim.step_until(status_write(StatusWrite::Clear));
    sim.expect_on(ADDRESS, None);
}

#[test]
fn an_edit_unassigns_the_old_address_before_it_assigns_the_new_one() {
    let mut sim = attached();
    sim.taken.clear();
    sim.edit("partner", "203.0.113.20");
    sim.settle();
    sim.expect_attached("partner", "a");
    let made = calls(&sim);
    assert!(
        matches!(made[..], [Call::Unassign { address: old, .. }, Call::Assign { address: new, .. }]
            if *old == address(ADDRESS) && *new == address("203.0.113.20")),
        "{made:?}"
    );
}

#[test]
fn a_forbidden_detach_ends_after_two_inventories_without_the_address() {
    let mut sim = world();
    sim.ec2.faults.extend([Fault::Denied; 1000]);
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    sim.wait(INTERVAL);
    goes(&mut sim, "a");
    sim.settle();
    sim.expect_free("partner");
}

#[test]
fn a_deletion_without_its_block_waits_with_a_reason() {
    let mut sim = attached();
    goes(&mut sim, "a");
    sim.step_until(status_write(StatusWrite::Clear));
    let blocks = std::mem::take(&mut sim.kube.blocks);
    sim.kube.bump();
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_not_reserved("partner", Reason::BlockMissing);
    let reserved = sim.the_ip("partner").status.conditions.reserved.clone();
    assert!(reserved.unwrap().message.contains("block block is gone"));
    sim.kube.blocks = blocks;
    sim.kube.bump();
    sim.settle();
    sim.expect_gone("partner");
}

#[test]
fn a_claim_and_a_detach_without_their_block_say_so() {
    for step in [StatusWrite::Claim, StatusWrite::Detach] {
        let mut sim = world();
        sim.pod("a").on("n1");
        if step == StatusWrite::Detach {
            sim.settle();
            goes(&mut sim, "a");
        }
        sim.step_until(status_write(step));
        let blocks = std::mem::take(&mut sim.kube.blocks);
        sim.kube.bump();
        sim.wait(Duration::from_secs(5));
        sim.expect_reason("partner", Reason::BlockMissing);
        sim.expect_event("IP partner", Reason::BlockMissing);
        sim.kube.blocks = blocks;
        sim.kube.bump();
        sim.settle();
        match step {
            StatusWrite::Claim => sim.expect_attached("partner", "a"),
            _ => sim.expect_free("partner"),
        }
    }
}

#[test]
fn a_missing_address_is_unassigned_from_previous_places() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "b");
    // A late call of another process, which no inventory shows yet.
    sim.found_on(ADDRESS, Some("eni-n1"));
    sim.delete_ip("partner");
    sim.taken.clear();
    sim.wait(Duration::from_millis(500));
    let address = address(ADDRESS);
    let asked = [
        &Call::Unassign {
            interface: interface_of("n2"),
            address,
        },
        &Call::Unassign {
            interface: interface_of("n1"),
            address,
        },
    ];
    assert_eq!(calls(&sim), asked, "{}", sim.story());
    sim.settle();
    sim.expect_gone("partner");
    sim.expect_on(ADDRESS, None);
}

#[test]
fn a_deletion_waits_two_inventories_for_a_deleted_interface() {
    let mut sim = attached();
    sim.instance("n1", InstanceState::Terminated);
    sim.delete_ip("partner");
    sim.wait(Duration::from_secs(5));
    sim.expect_gone("partner");
}
