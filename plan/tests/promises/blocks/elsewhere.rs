//! A controller that asks in another region or as another account sees no interface of the subnet. That proves nothing:
//! no pod loses its address, no node its label, and no reservation is released.
//! Rule: R1.27.

use std::time::Duration;

use mooring_plan::facts::Fact;
use mooring_plan::names::SubnetId;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;

use super::{condition, labels_of, settle_block, steps, world};
use crate::sim::{SUBNET, Sim, address};

const ADDRESS: &str = "203.0.113.10";

/// Pod "a" on n1 has the address of "partner"; both nodes have the label of the block.
fn attached() -> Sim {
    let mut sim = world();
    settle_block(&mut sim);
    sim.expect_attached("partner", "a");
    sim.wait(Duration::from_mins(2));
    sim.count_from_here();
    sim
}

/// From here on the controllers ask elsewhere, after a restart or without one.
fn asks_elsewhere(restart: bool) -> Sim {
    let mut sim = attached();
    sim.ec2.elsewhere = true;
    if restart {
        sim.restart(0);
    }
    sim
}

fn asks_rightly_again(sim: &mut Sim, restart: bool) {
    sim.ec2.elsewhere = false;
    if restart {
        sim.restart(0);
    }
}

fn expect_nothing_done(sim: &mut Sim) {
    sim.expect_attached("partner", "a");
    let counts = sim.counts;
    assert_eq!((counts.writes(), counts.calls()), (0, 0), "{}", sim.story());
    assert_eq!(labels_of(&steps(sim)), []);
}

fn expect_ready(sim: &mut Sim) {
    let ready = condition(sim, "Ready");
    assert!(ready.status, "{ready:?}");
}

#[test]
fn inventories_of_another_region_take_nothing_from_a_pod_or_a_node() {
    for restart in [true, false] {
        let mut sim = asks_elsewhere(restart);
        sim.wait(Duration::from_mins(5));
        assert!(sim.counts.inventories > 3);
        expect_nothing_done(&mut sim);
        asks_rightly_again(&mut sim, restart);
        sim.wait(Duration::from_mins(5));
        expect_nothing_done(&mut sim);
        expect_ready(&mut sim);
        // It goes on.
        sim.remove_pod("a");
        sim.pod("b").on("n2");
        sim.settle();
        sim.expect_attached("partner", "b");
    }
}

#[test]
fn an_ip_that_is_deleted_meanwhile_keeps_its_reservation() {
    for restart in [true, false] {
        let mut sim = asks_elsewhere(restart);
        sim.wait(Duration::from_secs(61));
        sim.delete_ip("partner");
        sim.wait(Duration::from_mins(10));
        assert!(sim.has_ip("partner"), "{}", sim.story());
        assert!(sim.kube.reservations.contains_key(&address(ADDRESS)));
        sim.expect_on(ADDRESS, Some("eni-n1"));
        sim.expect_reason("partner", Reason::SubnetNotFound);
        asks_rightly_again(&mut sim, restart);
        sim.settle();
        sim.expect_gone("partner");
        sim.expect_on(ADDRESS, None);
    }
}

#[test]
fn a_pod_that_waits_gets_the_advice_to_check_the_region_and_the_account() {
    let mut sim = asks_elsewhere(true);
    sim.pod("b").on("n2").asks("spare");
    sim.wait(Duration::from_secs(30));
    sim.expect_denied("b", Reason::SubnetNotFound);
    let message = sim.the_ip("spare").status.conditions.attached.clone();
    let message = message.unwrap().message;
    for part in [SUBNET, "AWS_REGION", "role"] {
        assert!(message.contains(part), "{message}");
    }
    asks_rightly_again(&mut sim, true);
    sim.settle();
    sim.expect_attached("spare", "b");
}

#[test]
fn an_empty_subnet_that_ec2_confirms_counts() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ec2.delete_interface(&"eni-n1".into());
    sim.wait(Duration::from_mins(3));
    sim.expect_denied("a", Reason::NoEligibleNode);
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
}

/// While EC2 denied the inventories, the last interface went.
#[test]
fn an_empty_subnet_counts_after_a_denial() {
    let mut sim = Sim::attached(&["n1"]);
    sim.describe_fails = Some(Outcome::Denied);
    sim.wait(Duration::from_mins(3));
    sim.ec2.delete_interface(&"eni-n1".into());
    sim.wait(Duration::from_secs(10));
    sim.describe_fails = None;
    sim.wait(Duration::from_mins(3));
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
}

/// EC2 denies `DescribeSubnets` after an empty list, and then an interface comes: nothing more is asked.
#[test]
fn a_denied_question_that_is_needed_no_more_does_not_make_the_block_unusable() {
    for late in [false, true] {
        let mut sim = attached();
        sim.node("n3");
        let id = SubnetId::from(SUBNET);
        let list = sim.ec2.describe(sim.now);
        let empty = Fact::InventoryDone(id.clone(), Vec::new());
        let denied = Fact::SubnetFailed(id.clone(), Outcome::Denied);
        let shown = Fact::InventoryDone(id, list);
        let facts = if late {
            [empty, shown, denied]
        } else {
            [empty, denied, shown]
        };
        for fact in facts {
            sim.now = sim.now.plus(Duration::from_millis(1));
            let now = sim.now;
            sim.controllers[0].facts_mut().apply(fact, now, now);
        }
        assert_eq!(labels_of(&steps(&mut sim)), [("n3", true)]);
        expect_ready(&mut sim);
    }
}

/// An empty list of another account was asked about. Then EC2 denies the inventories: `DescribeSubnets` is not needed
/// any more.
#[test]
fn a_failed_question_that_is_needed_no_more_does_not_hide_the_action_that_is_denied_now() {
    for outcome in [Outcome::SubnetNotFound, Outcome::Denied] {
        let mut sim = attached();
        let id = SubnetId::from(SUBNET);
        let facts = [
            Fact::InventoryDone(id.clone(), Vec::new()),
            Fact::SubnetFailed(id.clone(), outcome),
            Fact::InventoryFailed(id, Outcome::Denied),
        ];
        for fact in facts {
            sim.now = sim.now.plus(Duration::from_millis(1));
            let now = sim.now;
            sim.controllers[0].facts_mut().apply(fact, now, now);
        }
        let ready = condition(&mut sim, "Ready");
        assert_eq!((ready.status, ready.reason), (false, Reason::AccessDenied));
        let action = "ec2:DescribeNetworkInterfaces";
        assert!(ready.message.contains(action), "{ready:?}");
    }
}

#[test]
fn while_the_interfaces_of_the_subnet_are_seen_it_is_read_once() {
    let mut sim = attached();
    let asked = sim.counts.describes;
    sim.wait(Duration::from_mins(10));
    assert_eq!(sim.counts.describes, asked);
}
