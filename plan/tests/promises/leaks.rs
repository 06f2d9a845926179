//! A process that runs for a year keeps no more facts than one that has just started: the facts of an object are
//! removed with it.

use std::time::Duration;

use mooring_plan::cloud::{Reassign, Subnet};
use mooring_plan::facts::{CallError, Fact, Facts, WriteOutcome, Written};
use mooring_plan::names::{BlockName, IpName, SubnetId};
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Call, Read, Write};
use mooring_plan::time::Instant;

use crate::paced::{Paced, ip};
use crate::sim::{Fault, Sim, address, instance_of, interface_of};

/// Longer than any fact is kept for a limited time.
pub const LONG: Duration = Duration::from_mins(25);

/// The facts without their times.
pub fn known(sim: &Sim) -> Facts {
    let mut facts = sim.controllers[0].facts().clone();
    facts.each_timestamp(&mut |moment| *moment = Instant::START);
    facts
}

/// A node with an ENI in its own subnet.
fn node(sim: &mut Sim, name: &str, subnet: &str) {
    sim.node(name);
    let subnet = sim.ec2.subnet(subnet);
    let interface = sim.ec2.interface_mut(&interface_of(name));
    interface.subnet = subnet;
    let node = sim.kube.nodes.get_mut(&name.into()).unwrap();
    node.instance_type = Some(format!("type-of-{name}").as_str().into());
}

fn remove_node(sim: &mut Sim, name: &str) {
    sim.remove_node(name);
    sim.ec2.remember(sim.now);
    sim.ec2.terminate(&instance_of(name));
}

/// An address is attached, handed over, moved by failover and released, with names that are used only here.
fn a_life(sim: &mut Sim, number: u32) {
    let named = |what: &str| format!("{what}{number}");
    let (ip, block, subnet) = (named("ip"), named("block"), named("subnet-of-block"));
    let (one, other) = (named("one"), named("other"));
    let (first, second, third) = (named("first"), named("second"), named("third"));
    sim.block(&block, "203.0.113.128/25");
    sim.change_block(&block, |block| {
        block.spec.as_mut().unwrap().subnet = SubnetId::from(subnet.as_str());
    });
    node(sim, &one, &subnet);
    node(sim, &other, &subnet);
    sim.ip_of_block(&ip, &block);
    sim.settle();
    let (old, new, of) = (named("rs-old"), named("rs-new"), named("dep"));
    sim.pod(&first).on(&one).replica_set(&old, 1, &of).asks(&ip);
    sim.wait(Duration::from_secs(10));
    sim.expect_attached(&ip, &first);
    sim.pod(&second)
        .on(&other)
        .replica_set(&new, 2, &of)
        .asks(&ip);
    sim.containers_ready(&second);
    sim.wait(Duration::from_secs(10));
    sim.expect_attached(&ip, &second);
    sim.remove_pod(&first);
    sim.pod(&third).on(&one).replica_set(&new, 2, &of).asks(&ip);
    sim.change_node(&other, |node| node.ready = false);
    sim.delete_pod(&second);
    sim.wait(Duration::from_secs(70));
    sim.expect_attached(&ip, &third);
    for pod in [second, third] {
        sim.remove_pod(&pod);
    }
    sim.delete_ip(&ip);
    sim.settle();
    sim.expect_gone(&ip);
    sim.kube.replica_sets.clear();
    remove_node(sim, &one);
    remove_node(sim, &other);
    sim.kube.blocks.remove(&BlockName::from(block.as_str()));
    sim.kube.bump();
}

#[test]
fn facts_about_deleted_names_are_forgotten() {
    let mut sim = Sim::new();
    sim.settle();
    sim.wait(LONG);
    let before = known(&sim);
    for number in 0..3 {
        a_life(&mut sim, number);
    }
    sim.wait(LONG);
    assert_eq!(known(&sim), before);
}

#[test]
fn an_answer_after_the_deletion_of_an_ip_leaves_nothing() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.settle();
    sim.wait(LONG);
    let before = known(&sim);
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    let (name, version) = (IpName::from("partner"), sim.the_ip("partner").version);
    let written = Written::Ip(sim.the_ip("partner").clone());
    // A user removes its finalizer and deletes its reservation.
    sim.kube.ips.clear();
    sim.kube.reservations.clear();
    sim.kube.bump();
    sim.deliver(0);
    let lost = CallError::new(Outcome::Unknown, "Timeout");
    let call = Call::Unassign {
        interface: interface_of("n1"),
        address: address("203.0.113.10"),
    };
    let write = Write::RemoveFinalizer {
        ip: name.clone(),
        version,
    };
    let answers = [
        Fact::IpRead(name.clone(), None),
        Fact::ReadFailed {
            ip: name.clone(),
            read: Read::Ip(name.clone()),
            outcome: None,
        },
        Fact::Called {
            ip: name.clone(),
            call: call.clone(),
            result: Ok(()),
        },
        Fact::Called {
            ip: name.clone(),
            call,
            result: Err(lost),
        },
        Fact::Wrote {
            ip: name.clone(),
            write: write.clone(),
            outcome: WriteOutcome::Conflict,
        },
        Fact::Wrote {
            ip: name.clone(),
            write: write.clone(),
            outcome: WriteOutcome::Done(Some(written)),
        },
        Fact::Wrote {
            ip: name,
            write,
            outcome: WriteOutcome::NotFound,
        },
    ];
    for answer in answers {
        let now = sim.now;
        let facts = sim.controllers[0].facts_mut();
        facts.apply(answer, now, now);
        // No event would remove it.
        assert!(facts.ip(&IpName::from("partner")).is_none());
    }
    sim.wait(LONG);
    assert_eq!(known(&sim), before);
}

#[test]
fn an_answer_about_an_unused_subnet_leaves_nothing() {
    let mut sim = Sim::new();
    sim.settle();
    let before = known(&sim);
    let subnet = SubnetId::from("subnet-of-a-block-that-is-gone");
    let answers = [
        Fact::InventoryBegun(subnet.clone()),
        Fact::InventoryDone(subnet.clone(), Vec::new()),
        Fact::InventoryFailed(subnet.clone(), Outcome::Denied),
        Fact::SubnetRead(subnet.clone(), Subnet::untagged(Vec::new())),
        Fact::SubnetFailed(subnet, Outcome::Denied),
    ];
    for answer in answers {
        let now = sim.now;
        sim.controllers[0].facts_mut().apply(answer, now, now);
    }
    assert_eq!(known(&sim), before);
}

#[test]
fn status_checks_that_are_answered_after_the_last_node_of_an_instance_is_gone_leave_nothing() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    sim.settle();
    sim.remove_node("n2");
    sim.settle();
    sim.wait(LONG);
    let before = known(&sim);
    let answer = |sim: &mut Sim, node: &str, since: Option<&str>| {
        let checks = Fact::ChecksRead(instance_of(node), since.map(str::to_owned));
        let now = sim.now;
        sim.controllers[0].facts_mut().apply(checks, now, now);
    };
    answer(&mut sim, "n2", Some("2026-01-01T00:00:00Z"));
    assert_eq!(known(&sim), before);
    // An answer that comes in time is kept until the checks pass.
    answer(&mut sim, "n1", Some("2026-01-01T00:00:00Z"));
    assert_ne!(known(&sim), before);
    answer(&mut sim, "n1", None);
    assert_eq!(known(&sim), before);
}

#[test]
fn an_ip_that_is_deleted_during_its_failover_leaves_nothing_in_the_engine() {
    let mut world = Paced::new(2, 2, Reassign::Refuse);
    world.change_blocks(|spec| spec.fast_failover = true);
    world.pod("db", 0, 0);
    world.run(Duration::from_secs(20));
    assert_eq!(world.attached(1), 1);
    world.is_stopped(0);
    world.run(Duration::from_secs(1));
    let held = format!("{:?}", world.engine);
    assert!(held.contains("FailoverTimer {"), "{held}");
    // No new pod asks for it.
    world.is_deleted("db");
    world.ends("db");
    let deleted = ip(0);
    world
        .kube
        .change_ip(&deleted, None, |ip| ip.deleting = true);
    world.run(Duration::from_mins(2));
    assert!(!world.kube.ips.contains_key(&deleted));
    world.run(LONG);
    let left = format!("{:?}", world.engine);
    assert!(left.contains(ip(1).as_str()), "{left}");
    assert!(!left.contains(deleted.as_str()), "{left}");
}

#[test]
fn an_ip_with_many_moves_remembers_only_places_of_its_status() {
    let mut sim = Sim::attached(&["n1", "n2"]);
    let round = |sim: &mut Sim, from: u32| {
        for number in from..from + 6 {
            let holder = sim.the_ip("partner").status.claim.clone().unwrap();
            let node = format!("node-{number}");
            sim.node(&node);
            sim.wait(Duration::from_secs(70));
            sim.pod(&format!("pod-{number}")).on(&node);
            sim.remove_pod(&holder.pod.name);
            sim.settle();
            sim.expect_attached("partner", &format!("pod-{number}"));
            let left = holder.target().unwrap().node.to_string();
            remove_node(sim, &left);
            sim.settle();
        }
        sim.wait(LONG);
        format!("{:#?}", known(sim)).len()
    };
    round(&mut sim, 0);
    let before = round(&mut sim, 100);
    let after = round(&mut sim, 200);
    let grown = after.saturating_sub(before);
    assert!(grown < 100, "{before} {after}\n{:#?}", known(&sim));
}

#[test]
fn an_outage_without_waiting_calls_is_forgotten() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.settle();
    sim.wait(LONG);
    let before = known(&sim);
    sim.ip("partner", "203.0.113.10");
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(30));
    sim.remove_pod("a");
    sim.delete_ip("partner");
    // The address was never attached, so no call shows the end of the outage.
    sim.kube.ips.clear();
    sim.kube.reservations.clear();
    sim.kube.bump();
    sim.settle();
    sim.wait(LONG);
    assert_eq!(known(&sim), before);
}
