//! A node part that has stopped is reported where addresses are attached, and nothing else follows.
//! Rule: R4.46.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::engine::Report;
use mooring_plan::names::{InstanceId, NodeName};
use mooring_plan::objects::DataPath;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Notice, Regarding, Step};

use crate::paced::{Paced, node};
use crate::programmed::{asking, programmed, stop};
use crate::sim::Sim;

/// After this time without a heartbeat a node part is away.
const AWAY: Duration = Duration::from_secs(30);
const SECOND: Duration = Duration::from_secs(1);

/// The nodes whose node part is away, as the controller sees it.
fn away(sim: &Sim) -> Vec<Notice> {
    sim.controllers[0].facts().node_parts_away(sim.now)
}

fn on_n1(notice: &Notice) -> bool {
    let n1 = Regarding::Node(NodeName::from("n1"), "uid-of-n1".to_owned());
    notice.on == n1 && notice.reason == Reason::NodePartAway
}

/// A heartbeat of the node part of "n1".
fn heartbeat(sim: &mut Sim, number: i64) {
    sim.kube.bump();
    let node = NodeName::from("n1");
    sim.kube.node_reports.get_mut(&node).unwrap().heartbeat = number;
    sim.deliver(0);
}

#[test]
fn half_a_minute_after_its_last_heartbeat_a_node_part_is_reported_on_its_node() {
    let mut sim = programmed(&["n1", "n2"]);
    stop(&mut sim, "n1");
    heartbeat(&mut sim, 10);
    sim.wait(AWAY.saturating_sub(SECOND));
    assert_eq!(away(&sim), []);
    sim.wait(SECOND);
    // No address is attached on "n2".
    assert!(matches!(&away(&sim)[..], [notice] if on_n1(notice)));
    sim.expect_attached("partner", "a");
    heartbeat(&mut sim, 20);
    assert_eq!(away(&sim), []);
}

#[test]
fn a_node_part_that_no_address_needs_is_not_reported() {
    let mut sim = programmed(&["n1"]);
    sim.wait(AWAY * 2);
    assert_eq!(away(&sim).len(), 1);
    let mut other = sim.clone();
    other.change_block("block", |block| {
        block.spec.as_mut().unwrap().data_path = DataPath::Foreign;
    });
    other.settle();
    assert_eq!(away(&other), [], "the block does not ask for it");
    let mut other = sim.clone();
    other.change_node("n1", |node| node.instance = Some(InstanceId::from("i-2")));
    other.deliver(0);
    assert_eq!(away(&other), [], "another machine has the name of the node");
    sim.delete_pod("a");
    sim.remove_pod("a");
    sim.settle();
    assert_eq!(away(&sim), [], "the address is detached");
}

#[test]
fn an_address_that_ec2_has_not_confirmed_needs_no_node_part() {
    let mut sim = asking(&["n1"]);
    sim.kube.start_node_part(&NodeName::from("n1"));
    sim.settle();
    sim.wait(AWAY * 2);
    sim.pod("a").on("n1");
    sim.step_until(|step| matches!(step, Step::Call(_)));
    assert_eq!(away(&sim), [], "{}", sim.story());
}

/// Its watches can have been interrupted, as its lease was.
#[test]
fn a_process_that_begins_to_lead_gives_node_parts_time_to_report() {
    let mut sim = programmed(&["n1"]);
    sim.wait(AWAY * 2);
    sim.lead(0);
    assert_eq!(away(&sim), []);
    sim.wait(AWAY.saturating_sub(SECOND));
    assert_eq!(away(&sim), []);
    sim.wait(SECOND);
    assert_eq!(away(&sim).len(), 1);
}

#[test]
fn nodes_whose_node_part_is_away_are_counted_and_reported_once() {
    let mut world = Paced::new(2, 1, Reassign::Refuse);
    world.change_blocks(|spec| spec.data_path = DataPath::NodePart);
    world.pod("db", 0, 0);
    world.run(Duration::from_secs(10));
    let name = NodeName::new(node(0));
    world.kube.start_node_part(&name);
    world.kube.program(&name);
    world.kube.report(&name);
    world.watches_show();
    world.run(AWAY.saturating_sub(SECOND));
    let counts = |world: &Paced| {
        let counts = world.reports.iter().filter_map(|(_, report)| match report {
            Report::NodePartsAway(count) => Some(*count),
            _ => None,
        });
        counts.collect::<Vec<_>>()
    };
    let reported = |world: &Paced| {
        let reported = |notice: &&Notice| notice.reason == Reason::NodePartAway;
        world.notices.iter().filter(reported).count()
    };
    assert!(counts(&world).iter().all(|count| *count == 0));
    assert_eq!(reported(&world), 0);
    world.reports.clear();
    world.run(Duration::from_hours(1));
    let counts = counts(&world);
    assert_eq!(counts.last(), Some(&1));
    assert!(counts.iter().filter(|count| **count == 0).count() <= 1);
    assert_eq!(reported(&world), 1);
}
