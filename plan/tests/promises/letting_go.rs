//! What keeps an address is let go only once it is proven to be on none of our interfaces, and then
//! without asking more of EC2 than that.

use mooring_plan::cloud::InstanceState;
use mooring_plan::facts::{CallError, Fact};
use mooring_plan::names::{IpName, Millis};
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, StatusWrite, Step, Write};

use crate::sim::{Fault, INTERVAL, Sim, address, interface_of};

const ADDRESS: &str = "203.0.113.10";

fn world() -> Sim {
    Sim::reserved(&["n1", "n2", "n3"])
}

fn attached() -> Sim {
    Sim::attached_by_deployment(&["n1", "n2", "n3"])
}

fn goes(sim: &mut Sim, pod: &str) {
    sim.delete_pod(pod);
    sim.tell(0);
    sim.pod_goes(pod);
}

fn status_write(what: StatusWrite) -> impl Fn(&Step) -> bool {
    move |step| matches!(step, Step::Write(Write::Status(_, _, written, _)) if *written == what)
}

fn calls(sim: &Sim) -> Vec<&Call> {
    let calls = sim.taken.iter().filter_map(|(_, _, step)| match step {
        Step::Call(call) => Some(call),
        _ => None,
    });
    calls.collect()
}

#[test]
fn what_was_just_taken_off_is_deleted_without_another_call_also_by_a_new_process() {
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
fn a_late_assign_that_lands_during_a_detach_is_taken_off_again_after_two_looks() {
    let mut sim = world();
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    goes(&mut sim, "a");
    sim.step_until(|step| matches!(step, Step::Call(Call::Unassign(..))));
    let now = sim.now;
    let late = Call::Assign(
        interface_of("n1"),
        address(ADDRESS),
        mooring_plan::cloud::Reassign::default(),
    );
    sim.ec2.execute(&late, now).unwrap();
    let looks = sim.counts.inventories;
    sim.step_until(|step| matches!(step, Step::Call(Call::Unassign(..))));
    assert!(sim.counts.inventories >= looks + 2, "{}", sim.story());
    sim.settle();
    sim.expect_free("partner");
    assert_eq!(sim.counts.unassigns, 2, "{}", sim.story());
}

#[test]
fn an_interface_that_ec2_denies_to_know_is_asked_again_while_inventories_show_it() {
    let mut sim = attached();
    goes(&mut sim, "a");
    sim.step_until(status_write(StatusWrite::Detach));
    let not_found = CallError {
        outcome: Outcome::InterfaceNotFound,
        code: String::new(),
        message: String::new(),
    };
    let call = Call::Unassign(interface_of("n1"), address(ADDRESS));
    let name = IpName::from("partner");
    let fact = Fact::Called(name, call, Err(not_found));
    let now = sim.now;
    sim.controllers[0].facts_mut().apply(fact, now, now);
    sim.step_until(status_write(StatusWrite::Clear));
    sim.expect_on(ADDRESS, None);
}

#[test]
fn an_edit_takes_the_old_address_off_before_the_new_one_is_put_on() {
    let mut sim = attached();
    sim.taken.clear();
    sim.edit("partner", "203.0.113.20");
    sim.settle();
    sim.expect_attached("partner", "a");
    let made = calls(&sim);
    assert!(
        matches!(made[..], [Call::Unassign(_, old), Call::Assign(_, new, _)]
            if *old == address(ADDRESS) && *new == address("203.0.113.20")),
        "{made:?}"
    );
}

#[test]
fn a_detach_that_ec2_does_not_permit_ends_when_two_looks_show_it_nowhere() {
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
fn a_deletion_whose_block_is_gone_says_so_and_waits_for_it() {
    let mut sim = attached();
    goes(&mut sim, "a");
    sim.step_until(status_write(StatusWrite::Clear));
    let blocks = std::mem::take(&mut sim.kube.blocks);
    sim.kube.bump();
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_not_reserved("partner", Reason::BlockMissing);
    let said = sim.the_ip("partner").status.conditions.reserved.clone();
    assert!(said.unwrap().message.contains("block block is gone"));
    sim.kube.blocks = blocks;
    sim.kube.bump();
    sim.settle();
    sim.expect_gone("partner");
}

#[test]
fn what_ec2_did_not_find_where_it_was_to_be_is_asked_of_the_places_before() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.wait(Millis::seconds(2));
    sim.expect_attached("partner", "b");
    // A late call of another process, which no inventory shows yet.
    sim.found_on(ADDRESS, Some("eni-n1"));
    sim.delete_ip("partner");
    sim.taken.clear();
    sim.wait(Millis(500));
    let address = address(ADDRESS);
    let asked = [
        &Call::Unassign(interface_of("n2"), address),
        &Call::Unassign(interface_of("n1"), address),
    ];
    assert_eq!(calls(&sim), asked, "{}", sim.story());
    sim.settle();
    sim.expect_gone("partner");
    sim.expect_on(ADDRESS, None);
}

#[test]
fn an_interface_that_went_with_its_machine_keeps_a_deletion_waiting_for_two_looks_only() {
    let mut sim = attached();
    sim.instance("n1", InstanceState::Terminated);
    sim.delete_ip("partner");
    sim.wait(Millis::seconds(5));
    sim.expect_gone("partner");
}
