//! A process that does not lead, and takes no inventory, keeps no more than one that leads.

use std::time::Duration;

use mooring_plan::facts::Fact;
use mooring_plan::names::{IpName, IpUid, NodeName, PodUid};
use mooring_plan::objects::{Ip, Node};

use crate::engine::Driven;
use crate::sim::Sim;

/// How often a prefix occurs in what the engine keeps.
fn kept(driven: &Driven, prefix: &str) -> usize {
    format!("{:?}", driven.engine).matches(prefix).count()
}

fn an_ip() -> Ip {
    let mut sim = Sim::new();
    sim.ip("partner", "203.0.113.10");
    sim.the_ip("partner").clone()
}

fn a_node() -> Node {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.kube.nodes[&NodeName::from("n1")].clone()
}

#[test]
fn pods_that_have_ended_are_forgotten() {
    let mut standby = Driven::knowing(0);
    standby.synced();
    for number in 0..20_000 {
        let uid = format!("ended-{number}");
        standby.fact(Fact::PodDeleted(PodUid::from(uid.as_str())));
    }
    assert!(kept(&standby, "ended-") < 1024);
}

#[test]
fn nodes_that_are_gone_are_forgotten() {
    let mut standby = Driven::knowing(0);
    standby.synced();
    let node = a_node();
    for number in 0..2_000 {
        let name = NodeName::from(format!("gone-{number}").as_str());
        let node = Node {
            name: name.clone(),
            ..node.clone()
        };
        let uid = node.uid.clone();
        standby.fact(Fact::Node(node));
        standby.fact(Fact::NodeGone(name, uid));
        standby.now = standby.now.plus(Duration::from_secs(10));
    }
    // Ten minutes of them.
    assert!(kept(&standby, "gone-") <= 60);
}

#[test]
fn ips_that_are_gone_are_forgotten() {
    let mut standby = Driven::knowing(0);
    standby.synced();
    let ip = an_ip();
    for number in 0..2_000 {
        let (name, uid) = (format!("gone-{number}"), format!("uid-{number}"));
        let (name, uid) = (IpName::from(name.as_str()), IpUid::from(uid.as_str()));
        standby.fact(Fact::Ip(Ip {
            name: name.clone(),
            uid: uid.clone(),
            ..ip.clone()
        }));
        standby.fact(Fact::IpGone(name, uid));
    }
    assert_eq!(kept(&standby, "gone-"), 0);
}
