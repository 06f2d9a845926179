//! No step is done twice, no step is based on old facts, and a wrong state is always repaired.
//! Rules: R1.11, R3.23, R4.5, R4.10.

use std::time::Duration;

use mooring_plan::engine::{Completion, Effect, Event, Work};
use mooring_plan::facts::{Fact, Kind, WriteOutcome};
use mooring_plan::names::{BlockName, IpName};
use mooring_plan::objects::{Gate, Reservation};
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Read, StatusWrite, Step, Write};

use crate::engine::Driven;
use crate::sim::{INTERVAL, Sim, address, status_write};

fn world() -> Sim {
    Sim::reserved(&["n1", "n2"])
}

fn attached() -> Sim {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.taken.clear();
    sim
}

#[test]
fn a_reservation_costs_one_write_of_the_status() {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.expect_cost(0, 1, 0);
}

#[test]
fn a_label_is_removed_once_whatever_the_watch_shows() {
    let mut sim = attached();
    sim.pod("b").on("n2");
    sim.settle();
    sim.remove_annotation("b");
    sim.deliver(0);
    sim.controllers[0].stuck.insert(Kind::Pod);
    sim.taken.clear();
    sim.wait(Duration::from_secs(20));
    let label = |step: &Step| matches!(step, Step::Write(Write::Label { .. }));
    let labels = sim.taken.iter().filter(|(_, _, step)| label(step)).count();
    assert_eq!(labels, 1, "{}", sim.story());
}

#[test]
fn a_label_of_a_deleted_pod_is_removed_once() {
    let mut sim = attached();
    sim.pod("b").on("n2");
    sim.settle();
    sim.remove_annotation("b");
    sim.step_until(|step| matches!(step, Step::Write(Write::Gate(_))));
    sim.controllers[0].stuck.insert(Kind::Pod);
    sim.remove_pod("b");
    sim.taken.clear();
    sim.wait(Duration::from_secs(20));
    let label = |step: &Step| matches!(step, Step::Write(Write::Label { .. }));
    let labels = sim.taken.iter().filter(|(_, _, step)| label(step)).count();
    assert_eq!(labels, 1, "{}", sim.story());
}

#[test]
fn an_ip_that_a_write_did_not_find_is_read_first() {
    let mut sim = world();
    sim.pod("a").on("n1");
    sim.deliver(0);
    let name = IpName::from("partner");
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    let Some(Step::Write(write)) = facts.decide(&name, now).step else {
        panic!("{:?}", facts.decide(&name, now));
    };
    let fact = Fact::Wrote {
        ip: name.clone(),
        write,
        outcome: WriteOutcome::NotFound,
    };
    facts.apply(fact, now, now);
    let step = facts.decide(&name, now).step;
    assert_eq!(step, Some(Step::Read(Read::Ip(name))));
}

#[test]
fn without_a_recent_inventory_no_pod_gets_a_free_address() {
    let mut sim = world();
    sim.describe_fails = Some(Outcome::Unknown);
    sim.wait(INTERVAL * 3);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(20));
    assert!(sim.the_ip("partner").status.claim.is_none());
    sim.describe_fails = None;
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn an_edit_resolves_an_address_in_foreign_use() {
    let mut sim = world();
    let version = sim.kube.bump();
    let held = sim.kube.reservations.get_mut(&address("203.0.113.10"));
    *held.unwrap() = Reservation {
        address: address("203.0.113.10"),
        uid: "of-a-service".to_owned(),
        version,
        deleting: false,
        finalizer: false,
        parent: None,
        parent_text: "Service default/web".to_owned(),
        label: None,
        owner: None,
        managed: true,
    };
    sim.settle();
    sim.expect_not_reserved("partner", Reason::AddressInUse);
    sim.edit("partner", "203.0.113.30");
    sim.settle();
    let status = &sim.the_ip("partner").status;
    assert_eq!(status.address, Some(address("203.0.113.30")));
}

#[test]
fn a_pod_gets_no_address_with_a_foreign_reservation() {
    let mut sim = world();
    let version = sim.kube.bump();
    let held = sim.kube.reservations.get_mut(&address("203.0.113.10"));
    let held = held.unwrap();
    (held.label, held.owner, held.parent) = (None, None, None);
    held.parent_text = "Service default/web".to_owned();
    held.version = version;
    sim.pod("a").on("n1");
    sim.settle();
    assert!(sim.the_ip("partner").status.claim.is_none());
}

#[test]
fn a_failover_reads_the_pod_and_its_node_first() {
    let mut sim = attached();
    sim.node_unreachable("n1");
    sim.delete_pod("a");
    sim.pod("b").on("n2").replica_set("rs1", 1, "dep");
    sim.taken.clear();
    sim.step_until(status_write(StatusWrite::Claim));
    let read = |what: fn(&Read) -> bool| {
        let reads = |step: &Step| matches!(step, Step::Read(read) if what(read));
        sim.taken.iter().any(|(_, _, step)| reads(step))
    };
    assert!(read(
        |read| matches!(read, Read::Pod(key) if key.name == "a")
    ));
    assert!(read(
        |read| matches!(read, Read::Node(name) if name.as_str() == "n1")
    ));
}

#[test]
fn another_pod_with_a_true_gate_is_denied() {
    let mut sim = attached();
    sim.pod("b").on("n2");
    sim.settle();
    sim.change_pod("b", |pod| {
        pod.gate = Some(Gate {
            status: true,
            reason: Reason::Attached.as_str().to_owned(),
        });
    });
    sim.settle();
    sim.expect_denied("b", Reason::MovedTo);
    sim.expect_attached("partner", "a");
}

#[test]
fn a_stale_gate_of_another_pod_does_not_deny_the_holder() {
    let mut sim = attached();
    sim.interface("eni-second", "n1");
    sim.ec2.delete_interface(&crate::sim::interface_of("n1"));
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.pod("b").on("n2");
    sim.settle();
    sim.restart(0);
    sim.change_pod("b", |pod| {
        pod.gate = Some(Gate {
            status: true,
            reason: Reason::Attached.as_str().to_owned(),
        });
    });
    sim.count_from_here();
    sim.settle();
    sim.expect_attached("partner", "a");
    assert_eq!(sim.counts.gate_writes, 1, "{}", sim.story());
}

#[test]
fn a_missing_replica_set_causes_no_handover() {
    let mut sim = world();
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    // The location was known shortly before.
    sim.wait(Duration::from_secs(1));
    sim.expect_attached("partner", "a");
    sim.kube.replica_sets.remove("rs1");
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(30));
    sim.expect_attached("partner", "a");
    sim.expect_event("b", Reason::ClaimedByOther);
}

#[test]
fn a_block_that_is_created_again_waits_for_the_steps_of_the_one_that_is_gone() {
    let mut driven = Driven::leading(0);
    let name = BlockName::from("block");
    let block = Fact::Block(mooring_world::objects::block("block", "203.0.113.0/24"));
    let begins = |driven: &mut Driven| {
        driven.now = driven.now.plus(Duration::from_secs(10));
        let mut effects = driven.effects().into_iter();
        effects.any(|effect| matches!(effect, Effect::BlockSteps(..)))
    };
    driven.fact(block.clone());
    assert!(begins(&mut driven));
    driven.fact(Fact::BlockGone(name.clone()));
    assert!(!begins(&mut driven));
    driven.fact(block);
    assert!(!begins(&mut driven), "the steps of the earlier block");
    let ended = Event::Completed(Work::Block(name), Completion::default());
    driven.engine.handle(ended, driven.now);
    assert!(begins(&mut driven));
}
