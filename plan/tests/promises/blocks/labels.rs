//! Tests which nodes get the label of a block.
//! Rules: R3.4, R3.7, R3.8.

use std::collections::BTreeMap;

use mooring_plan::cloud::Subnet;
use mooring_plan::facts::Fact;
use mooring_plan::names::{NodeName, SubnetId};

use super::{LABEL, labels_of, next_inventory, settle_block, steps, world};
use crate::sim::{INTERVAL, SUBNET, Sim, instance_of, interface_of};

fn labelled(sim: &Sim, node: &str) -> bool {
    let node = &sim.kube.nodes[&NodeName::from(node)];
    node.labels.contains_key(LABEL)
}

#[test]
fn only_usable_nodes_get_the_label_of_a_block() {
    let mut sim = world();
    sim.node("far");
    sim.ec2.delete_interface(&interface_of("far"));
    sim.wait(INTERVAL);
    settle_block(&mut sim);
    assert!(labelled(&sim, "n1") && labelled(&sim, "n2"));
    assert!(!labelled(&sim, "far"));
    sim.change_node("far", |node| node.instance = None);
    assert_eq!(labels_of(&steps(&mut sim)), []);
    sim.change_node("far", |node| {
        node.labels.insert(LABEL.to_owned(), String::new());
    });
    assert_eq!(labels_of(&steps(&mut sim)), [("far", false)]);
}

#[test]
fn a_label_is_removed_after_two_inventories_without_the_interface() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.ec2.shows = |interface| interface.id != interface_of("n2");
    next_inventory(&mut sim);
    assert_eq!(labels_of(&steps(&mut sim)), [], "after one");
    sim.wait(INTERVAL);
    assert_eq!(
        labels_of(&steps(&mut sim)),
        [("n2", false)],
        "after another"
    );
    settle_block(&mut sim);
    sim.ec2.shows = |_| true;
    sim.wait(INTERVAL);
    assert_eq!(labels_of(&steps(&mut sim)), [("n2", true)]);
}

#[test]
fn the_first_inventory_after_a_start_removes_no_label() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.restart(0);
    // The interface is new, and Describe is late.
    sim.ec2.shows = |interface| interface.id != interface_of("n2");
    next_inventory(&mut sim);
    assert_eq!(labels_of(&steps(&mut sim)), [], "after one");
    sim.wait(INTERVAL.saturating_mul(2));
    assert_eq!(labels_of(&steps(&mut sim)), [("n2", false)]);
}

#[test]
fn an_interface_that_cannot_be_used_keeps_no_label() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.interface("eni-other", "n2");
    sim.change_block("block", |block| {
        block.spec.as_mut().unwrap().interface_tags =
            [("role".to_owned(), "edge".to_owned())].into();
    });
    for node in ["n1", "n2"] {
        let tags = [("role".to_owned(), "edge".to_owned())].into();
        sim.ec2.interface_mut(&interface_of(node)).tags = tags;
    }
    sim.wait(INTERVAL.saturating_mul(2));
    assert_eq!(labels_of(&steps(&mut sim)), []);
    sim.ec2.delete_interface(&interface_of("n2"));
    sim.wait(INTERVAL.saturating_mul(3));
    assert_eq!(labels_of(&steps(&mut sim)), [("n2", false)]);
}

#[test]
fn before_the_first_inventory_no_label_is_changed() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.change_node("n1", |node| {
        node.labels.insert(LABEL.to_owned(), String::new());
    });
    let cidrs = vec!["203.0.113.0/24".parse().unwrap()];
    sim.deliver(0);
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(
        Fact::SubnetRead(SubnetId::from(SUBNET), Subnet::untagged(cidrs)),
        now,
        now,
    );
    assert_eq!(labels_of(&steps(&mut sim)), []);
}

#[test]
fn labels_of_an_administrator_are_never_changed() {
    let mut sim = world();
    let own = BTreeMap::from([("role".to_owned(), "edge".to_owned())]);
    sim.change_block("block", |block| {
        if let Ok(spec) = &mut block.spec {
            spec.node_selector = Some(own);
        }
    });
    assert_eq!(labels_of(&steps(&mut sim)), []);
}

#[test]
fn a_node_with_the_instance_of_an_older_one_has_no_label() {
    let mut sim = world();
    settle_block(&mut sim);
    sim.node("forged");
    sim.change_node("forged", |node| {
        node.created += 1;
        node.instance = Some(instance_of("n1"));
    });
    assert_eq!(labels_of(&steps(&mut sim)), []);
    sim.change_node("forged", |node| {
        node.labels.insert(LABEL.to_owned(), String::new());
    });
    assert_eq!(labels_of(&steps(&mut sim)), [("forged", false)]);
}
