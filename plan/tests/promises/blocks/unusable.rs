//! A block whose addresses cannot be reserved reports the reason, and its nodes get no label.
//! Rule: R3.7.

use mooring_plan::cloud::Subnet;
use mooring_plan::facts::Fact;
use mooring_plan::names::{NodeName, SubnetId};
use mooring_plan::objects::Condition;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::Notice;

use super::{LABEL, labels_of, next_status, settle_block, steps, world};
use crate::sim::{INTERVAL, SUBNET, Sim};

/// The present or next condition `Ready`, and its Events.
fn ready(sim: &mut Sim) -> (Condition, Vec<Notice>) {
    let (status, notices) = next_status(sim);
    (status.conditions["Ready"].clone(), notices)
}

fn subnet_failed(sim: &mut Sim, outcome: Outcome) {
    sim.apply(Fact::SubnetFailed(SubnetId::from(SUBNET), outcome));
}

fn subnet_is(sim: &mut Sim, cidr: &str) {
    let cidrs = vec![cidr.parse().unwrap()];
    sim.apply(Fact::SubnetRead(
        SubnetId::from(SUBNET),
        Subnet::untagged(cidrs),
    ));
}

fn inventory_failed(sim: &mut Sim, outcome: Outcome) {
    sim.apply(Fact::InventoryFailed(SubnetId::from(SUBNET), outcome));
}

fn inventory_done(sim: &mut Sim) {
    let list = sim.ec2.describe(sim.now);
    sim.apply(Fact::InventoryDone(SubnetId::from(SUBNET), list));
}

#[test]
fn an_unknown_subnet_is_reported_with_an_event() {
    let mut sim = Sim::new();
    sim.deliver(0);
    subnet_failed(&mut sim, Outcome::SubnetNotFound);
    // For a subnet that does not exist, EC2 returns an empty list and no error.
    inventory_done(&mut sim);
    let (condition, notices) = ready(&mut sim);
    assert_eq!(
        (condition.status, condition.reason),
        (false, Reason::SubnetNotFound)
    );
    for part in [
        SUBNET,
        "AWS_REGION",
        "role",
        "delete the IPs of this block and the block",
        "takes the address from its pod",
    ] {
        assert!(condition.message.contains(part), "{condition:?}");
    }
    let events: Vec<_> = notices.iter().map(|notice| notice.reason).collect();
    assert_eq!(events, [Reason::SubnetNotFound], "{notices:?}");
    // The next answer of EC2 is lost: the condition does not change.
    subnet_failed(&mut sim, Outcome::Unknown);
    assert_eq!(ready(&mut sim).0, condition);
    // The subnet is new, and Describe did not show it before.
    subnet_is(&mut sim, "203.0.113.0/24");
    let condition = ready(&mut sim).0;
    assert!(
        !condition.status,
        "the empty list from before does not count"
    );
    inventory_done(&mut sim);
    assert!(ready(&mut sim).0.status);
}

#[test]
fn a_block_with_denied_inventories_names_the_missing_permission() {
    let mut sim = Sim::new();
    sim.deliver(0);
    subnet_failed(&mut sim, Outcome::Denied);
    inventory_failed(&mut sim, Outcome::Denied);
    let (condition, notices) = ready(&mut sim);
    assert_eq!(
        (condition.status, condition.reason),
        (false, Reason::AccessDenied)
    );
    assert!(
        condition.message.contains("ec2:DescribeSubnets"),
        "{condition:?}"
    );
    assert_eq!(notices.len(), 1, "{notices:?}");
    subnet_is(&mut sim, "203.0.113.0/24");
    let (condition, notices) = ready(&mut sim);
    assert_eq!(
        (condition.status, condition.reason),
        (false, Reason::AccessDenied)
    );
    assert!(
        condition.message.contains("ec2:DescribeNetworkInterfaces"),
        "{condition:?}"
    );
    assert_eq!(notices.len(), 1, "{notices:?}");
    inventory_failed(&mut sim, Outcome::Throttled);
    assert_eq!(
        ready(&mut sim).0,
        condition,
        "still not permitted, as far as is known"
    );
    inventory_done(&mut sim);
    assert!(ready(&mut sim).0.status);
}

#[test]
fn credentials_that_ec2_does_not_accept_are_not_called_a_missing_permission() {
    for failed in [subnet_failed, inventory_failed] {
        let mut sim = Sim::new();
        sim.deliver(0);
        failed(&mut sim, Outcome::Unauthenticated);
        let (condition, notices) = ready(&mut sim);
        assert_eq!(
            (condition.status, condition.reason),
            (false, Reason::AccessDenied)
        );
        assert!(
            condition.message.contains("accepts no credentials"),
            "{condition:?}"
        );
        assert!(!condition.message.contains("policy"), "{condition:?}");
        assert_eq!(notices.len(), 1);
    }
    // The credentials come back, and the permission is missing.
    let mut sim = Sim::new();
    sim.deliver(0);
    inventory_failed(&mut sim, Outcome::Unauthenticated);
    inventory_failed(&mut sim, Outcome::Denied);
    let condition = ready(&mut sim).0;
    assert!(condition.message.contains("policy"), "{condition:?}");
}

#[test]
fn a_revoked_permission_makes_a_block_unready() {
    let mut sim = world();
    settle_block(&mut sim);
    inventory_failed(&mut sim, Outcome::Denied);
    assert_eq!(ready(&mut sim).0.reason, Reason::AccessDenied);
    // If EC2 does not answer, the condition of the block does not change.
    let mut sim = world();
    settle_block(&mut sim);
    inventory_failed(&mut sim, Outcome::Unknown);
    assert!(ready(&mut sim).0.status);
}

#[test]
fn before_an_answer_of_ec2_a_block_waits_with_a_hint() {
    let mut sim = Sim::new();
    let (condition, notices) = ready(&mut sim);
    assert_eq!(
        (condition.status, condition.reason),
        (false, Reason::Waiting)
    );
    for part in [
        SUBNET,
        "ec2:DescribeSubnets",
        "ec2:DescribeNetworkInterfaces",
    ] {
        assert!(condition.message.contains(part), "{condition:?}");
    }
    assert_eq!(notices, []);
    // The CIDRs alone are not enough to reserve anything.
    subnet_is(&mut sim, "203.0.113.0/24");
    assert_eq!(ready(&mut sim).0.reason, Reason::Waiting);
    inventory_done(&mut sim);
    assert!(ready(&mut sim).0.status);
}

#[test]
fn a_new_process_keeps_a_block_ready_until_ec2_answers() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.restart(0);
    assert!(ready(&mut sim).0.status, "nothing was asked yet");
    subnet_failed(&mut sim, Outcome::Unknown);
    assert_eq!(ready(&mut sim).0.reason, Reason::Waiting, "no answer");
    // The condition of an earlier spec does not count.
    let mut sim = world();
    settle_block(&mut sim);
    sim.change_block("block", |block| block.generation = 2);
    sim.restart(0);
    assert_eq!(ready(&mut sim).0.reason, Reason::Waiting);
}

/// Two nodes that could carry addresses of the block and do not have its label.
fn unlabelled() -> Sim {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    sim.wait(INTERVAL);
    sim
}

#[test]
fn no_node_gets_the_label_of_an_unready_block() {
    let mut sim = unlabelled();
    subnet_is(&mut sim, "198.51.100.0/24");
    assert_eq!(ready(&mut sim).0.reason, Reason::SubnetMismatch);
    assert_eq!(labels_of(&steps(&mut sim)), []);
    let mut sim = unlabelled();
    inventory_failed(&mut sim, Outcome::Denied);
    assert_eq!(labels_of(&steps(&mut sim)), []);
    inventory_done(&mut sim);
    let both = [("n1", true), ("n2", true)];
    assert_eq!(labels_of(&steps(&mut sim)), both, "it is ready");
}

#[test]
fn a_label_stays_on_an_unready_block_until_the_interface_is_gone() {
    let mut sim = unlabelled();
    settle_block(&mut sim);
    inventory_failed(&mut sim, Outcome::Denied);
    settle_block(&mut sim);
    let labelled = |sim: &Sim| {
        let nodes = sim.kube.nodes.values();
        nodes.filter(|node| node.labels.contains_key(LABEL)).count()
    };
    assert_eq!(labelled(&sim), 2);
    subnet_is(&mut sim, "198.51.100.0/24");
    sim.ec2.delete_interface(&crate::sim::interface_of("n2"));
    inventory_done(&mut sim);
    inventory_done(&mut sim);
    settle_block(&mut sim);
    assert_eq!(labelled(&sim), 1);
    assert!(
        !sim.kube.nodes[&NodeName::from("n2")]
            .labels
            .contains_key(LABEL)
    );
}
