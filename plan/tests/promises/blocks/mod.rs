//! The steps of a block: its finalizer, its status, the labels of its nodes, and its requests to EC2.

mod brake;
mod counts;
mod elsewhere;
mod labels;
mod limits;
mod orphans;
mod ownerless;
mod refused;
mod status;
mod unusable;

use std::time::Duration;

use mooring_plan::cloud::Subnet;
use mooring_plan::facts::Fact;
use mooring_plan::names::{BlockName, SubnetId};
use mooring_plan::objects::{BlockStatus, Condition};
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{BlockStep, Notice};

use crate::sim::{SUBNET, Sim};

const LABEL: &str = "ip.wgtwo.com.node-restriction.kubernetes.io/block";

fn name() -> BlockName {
    BlockName::from("block")
}

/// The steps and notices of the block now.
fn look(sim: &mut Sim) -> (Vec<BlockStep>, Vec<Notice>) {
    sim.deliver(0);
    sim.controllers[0].facts().block_steps(&name(), sim.now)
}

fn steps(sim: &mut Sim) -> Vec<BlockStep> {
    look(sim).0
}

/// Carries out the steps of the block until there are none.
fn settle_block(sim: &mut Sim) {
    for _ in 0..8 {
        let steps = steps(sim);
        if steps.is_empty() {
            return;
        }
        for step in steps {
            carry_out(sim, step);
        }
    }
    panic!("never at rest: {:?}", steps(sim));
}

fn carry_out(sim: &mut Sim, step: BlockStep) {
    match step {
        BlockStep::Status { status, .. } => {
            sim.change_block("block", |block| block.status = status);
        }
        BlockStep::Label { node, present: on } => sim.change_node(node.as_str(), |node| {
            node.labels.remove(LABEL);
            if on {
                node.labels.insert(LABEL.to_owned(), String::new());
            }
        }),
        BlockStep::AddFinalizer { .. } => sim.change_block("block", |block| block.finalizer = true),
        BlockStep::RemoveFinalizer { .. } => {
            sim.change_block("block", |block| block.finalizer = false);
        }
        BlockStep::DropReleaseBrake { .. } => {
            sim.change_block("block", |block| block.release_brake = false);
        }
        BlockStep::ReadIp(name) => {
            let fact = Fact::IpRead(name.clone(), sim.kube.ips.get(&name).cloned());
            let now = sim.now;
            sim.controllers[0].facts_mut().apply(fact, now, now);
        }
        BlockStep::Release(reservation) => {
            sim.kube.release(&reservation);
        }
        BlockStep::ReadSubnet(_) | BlockStep::ReadLimits(_) => panic!("{step:?} was answered"),
    }
}

fn status(sim: &mut Sim) -> BlockStatus {
    settle_block(sim);
    sim.kube.blocks[&name()].status.clone()
}

fn condition(sim: &mut Sim, kind: &str) -> Condition {
    status(sim).conditions[kind].clone()
}

/// The status that is written now, or the present one, and the Events beside it.
fn next_status(sim: &mut Sim) -> (BlockStatus, Vec<Notice>) {
    let (steps, notices) = look(sim);
    let written = steps.into_iter().find_map(|step| match step {
        BlockStep::Status { status, .. } => Some(status),
        _ => None,
    });
    let status = written.unwrap_or_else(|| sim.kube.blocks[&name()].status.clone());
    (status, notices)
}

/// Lets time pass until one more inventory has begun, and is answered.
fn next_inventory(sim: &mut Sim) {
    let begun = sim.counts.inventories;
    while sim.counts.inventories == begun {
        sim.wait(Duration::from_millis(500));
    }
}

fn labels_of(steps: &[BlockStep]) -> Vec<(&str, bool)> {
    let labels = steps.iter().filter_map(|step| match step {
        BlockStep::Label { node, present: on } => Some((node.as_str(), *on)),
        _ => None,
    });
    labels.collect()
}

/// Two nodes, one IP that a pod on the first node holds, and one IP without a pod.
fn world() -> Sim {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    sim.ip("partner", "203.0.113.10");
    sim.ip("spare", "203.0.113.20");
    sim.pod("a").on("n1");
    sim.settle();
    sim
}

#[test]
fn the_finalizer_comes_first() {
    let mut sim = world();
    sim.change_block("block", |block| block.finalizer = false);
    let version = sim.kube.blocks[&name()].version;
    assert_eq!(
        steps(&mut sim),
        [BlockStep::AddFinalizer { version }],
        "and nothing beside it"
    );
}

#[test]
fn a_block_in_its_desired_state_is_not_changed() {
    let mut sim = world();
    settle_block(&mut sim);
    assert_eq!(steps(&mut sim), []);
}

#[test]
fn a_block_is_deleted_only_when_empty_and_without_labels() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.change_block("block", |block| block.deleting = true);
    settle_block(&mut sim);
    assert!(sim.kube.blocks[&name()].finalizer, "an IP lies in it");
    let waits = &sim.kube.blocks[&name()].status.conditions["Ready"];
    assert_eq!((waits.status, waits.reason), (false, Reason::Waiting));
    let left = "not being deleted: delete them: partner, spare";
    assert!(waits.message.contains(left), "{waits:?}");
    assert!(!waits.message.contains("IPAddress"), "{waits:?}");
    sim.remove_pod("a");
    sim.delete_ip("partner");
    sim.delete_ip("spare");
    sim.settle();
    sim.expect_gone("partner");
    let taken_off = [("n1", false), ("n2", false)];
    assert_eq!(labels_of(&steps(&mut sim)), taken_off);
    assert_eq!(steps(&mut sim).len(), 2, "only the labels, at first");
    for step in steps(&mut sim) {
        carry_out(&mut sim, step);
    }
    let version = sim.kube.blocks[&name()].version;
    assert_eq!(steps(&mut sim), [BlockStep::RemoveFinalizer { version }]);
}

#[test]
fn a_block_with_ips_still_labels_a_new_node_while_it_is_being_deleted() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.change_block("block", |block| block.deleting = true);
    settle_block(&mut sim);
    sim.change_node("n1", |node| node.labels.clear());
    assert_eq!(labels_of(&steps(&mut sim)), [("n1", true)]);
}

#[test]
fn a_deletion_names_first_the_ips_that_a_person_must_delete() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.change_block("block", |block| block.deleting = true);
    sim.delete_ip("partner");
    sim.deliver(0);
    let waits = condition(&mut sim, "Ready").message;
    let both = "delete them: spare. It waits for these IPs, whose conditions say what they wait for: partner";
    assert!(waits.contains(both), "{waits}");
}

#[test]
fn a_foreign_finalizer_is_not_awaited() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.settle();
    sim.change_block("block", |block| {
        block.deleting = true;
        block.finalizer = false;
    });
    let finalizers = |step: &BlockStep| {
        matches!(
            step,
            BlockStep::RemoveFinalizer { .. } | BlockStep::AddFinalizer { .. }
        )
    };
    assert!(!steps(&mut sim).iter().any(finalizers));
    let unlabelled = "no step would remove a label";
    assert_eq!(labels_of(&steps(&mut sim)), [], "{unlabelled}");
    let waits = &status(&mut sim).conditions["Ready"];
    assert!(!waits.status, "{waits:?}");
    let others = "It waits for finalizers of others";
    assert!(waits.message.contains(others), "{waits:?}");
}

#[test]
fn an_unknown_subnet_is_polled_until_it_is_known() {
    let mut sim = Sim::new();
    let asks = |sim: &mut Sim| {
        let asking = BlockStep::ReadSubnet(SubnetId::from(SUBNET));
        steps(sim).contains(&asking)
    };
    assert!(asks(&mut sim), "at once");
    let failed = Fact::SubnetFailed(SubnetId::from(SUBNET), Outcome::Unknown);
    let now = sim.now;
    sim.controllers[0].facts_mut().apply(failed, now, now);
    assert!(!asks(&mut sim), "not in the same moment again");
    sim.now = sim.now.plus(Duration::from_secs(30));
    assert!(asks(&mut sim), "no wait is longer");
    let cidrs = vec!["203.0.113.0/24".parse().unwrap()];
    let read = Fact::SubnetRead(SubnetId::from(SUBNET), Subnet::untagged(cidrs));
    let now = sim.now;
    sim.controllers[0].facts_mut().apply(read, now, now);
    sim.now = sim.now.plus(Duration::from_hours(1));
    assert!(!asks(&mut sim));
}
