//! What is known of a Node never goes back: not by a read that is answered late, and not by a watch that lags.
//! Rules: R1.26, R3.23.

use std::time::Duration;

use mooring_plan::facts::{Fact, Facts, Kind};
use mooring_plan::names::NodeName;
use mooring_plan::objects::Node;
use mooring_plan::step::{Read, Step};
use mooring_plan::time::Instant;

use crate::late::a_successor_whose_last_event_is_ready;
use crate::sim::Sim;

/// A pod on node n1 gets the address.
fn expect_usable(mut sim: Sim) {
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_read_before_the_last_change_of_a_node_does_not_undo_it() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.node_unreachable("n1");
    sim.deliver(0);
    let name = NodeName::from("n1");
    let earlier = sim.kube.nodes[&name].clone();
    let answer = Fact::NodeRead(name, Some(earlier));
    sim.answered_after(answer, |sim| sim.node_is_well("n1"));
    expect_usable(sim);
}

#[test]
fn a_read_before_the_end_of_a_node_does_not_restore_it() {
    let mut sim = Sim::reserved(&["n1"]);
    let name = NodeName::from("n1");
    let earlier = sim.kube.nodes[&name].clone();
    let answer = Fact::NodeRead(name, Some(earlier));
    sim.answered_after(answer, |sim| sim.remove_node("n1"));
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_free("partner");
}

#[test]
fn a_read_before_a_node_of_the_same_name_does_not_remove_it() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.remove_node("n1");
    sim.deliver(0);
    let name = NodeName::from("n1");
    sim.answered_after(Fact::NodeRead(name, None), |sim| {
        sim.node_is_well("n1");
    });
    expect_usable(sim);
}

/// Node n2 of the successor is well, and then this happens. A read shows that, and after it the lagging watch shows a
/// state from before.
fn a_late_watch_of_the_node_after(change: impl FnOnce(&mut Sim)) {
    let mut sim = a_successor_whose_last_event_is_ready(Kind::Node);
    let name = NodeName::from("n2");
    let shown = Node {
        version: sim.kube.bump(),
        ..sim.kube.nodes[&name].clone()
    };
    change(&mut sim);
    sim.step_until(|step| *step == Step::Read(Read::Node(name.clone())));
    let now = sim.now;
    sim.controllers[0]
        .facts_mut()
        .apply(Fact::Node(shown), now, now);
    sim.wait(Duration::from_secs(30));
    sim.expect_attached("partner", "a");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn no_handover_to_a_node_that_a_read_shows_unready() {
    a_late_watch_of_the_node_after(|sim| sim.node_unreachable("n2"));
}

#[test]
fn no_handover_to_a_node_that_a_read_does_not_find() {
    a_late_watch_of_the_node_after(|sim| sim.remove_node("n2"));
}

/// A read has shown the next Node of this name. The watch shows the end of the earlier one after that.
#[test]
fn the_end_of_an_earlier_node_does_not_remove_the_present_one() {
    let mut sim = Sim::reserved(&["n1"]);
    let name = NodeName::from("n1");
    let earlier = sim.kube.nodes[&name].uid.clone();
    sim.remove_node("n1");
    sim.node_is_well("n1");
    let present = sim.kube.nodes[&name].clone();
    sim.controllers[0].stuck.insert(Kind::Node);
    let (now, facts) = (sim.now, sim.controllers[0].facts_mut());
    facts.apply(Fact::NodeRead(name.clone(), Some(present)), now, now);
    facts.apply(Fact::NodeGone(name, earlier), now, now);
    expect_usable(sim);
}

/// A read did not find the Node, which no watch had shown. After it the lagging watch shows it.
#[test]
fn a_node_that_a_read_did_not_find_is_read_again_if_a_watch_shows_it() {
    let mut sim = a_successor_whose_last_event_is_ready(Kind::Node);
    let name = NodeName::from("n2");
    let shown = sim.kube.nodes[&name].clone();
    sim.remove_node("n2");
    let (now, facts) = (sim.now, sim.controllers[0].facts_mut());
    let uid = shown.uid.clone();
    facts.apply(Fact::NodeGone(name.clone(), uid), now, now);
    let begun = now.plus(Duration::from_millis(1));
    facts.apply(Fact::NodeRead(name, None), begun, begun);
    let shown = Node {
        uid: "earlier".to_owned(),
        ..shown
    };
    facts.apply(Fact::Node(shown), begun, begun);
    sim.now = begun;
    sim.wait(Duration::from_secs(30));
    sim.expect_attached("partner", "a");
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

/// The API server was restored from a backup, after the Node had become unreachable or was gone. This shows it again, with
/// its UID and a lower version.
fn restored_after(show: impl Fn(&mut Facts, Node, Instant)) {
    for gone in [true, false] {
        let mut sim = Sim::reserved(&["n1"]);
        let name = NodeName::from("n1");
        let restored = sim.kube.nodes[&name].clone();
        sim.controllers[0].stuck.insert(Kind::Node);
        let later = Node {
            version: sim.kube.bump(),
            ready: false,
            unreachable: true,
            ..restored.clone()
        };
        let (now, facts) = (sim.now, sim.controllers[0].facts_mut());
        facts.apply(Fact::Node(later), now, now);
        if gone {
            let uid = restored.uid.clone();
            facts.apply(Fact::NodeGone(name, uid), now, now);
        }
        sim.now = now.plus(Duration::from_millis(1));
        show(facts, restored, sim.now);
        expect_usable(sim);
    }
}

#[test]
fn a_node_can_come_back_with_a_restoration() {
    restored_after(|facts, node, now| {
        facts.apply(Fact::Restored(Kind::Node), now, now);
        facts.apply(Fact::Node(node), now, now);
    });
}

/// Before a list has shown the restoration.
#[test]
fn a_read_shows_a_node_that_a_restoration_brought_back() {
    restored_after(|facts, node, now| {
        facts.apply(Fact::NodeRead(node.name.clone(), Some(node)), now, now);
    });
}
