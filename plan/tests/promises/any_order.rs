//! Whatever happens, in whatever order: the rules of safety hold at every step; and once faults stop,
//! the state matches the specs, and there are no more writes or calls.

use std::time::Duration;

use mooring_plan::cloud::{InstanceState, Reassign};
use mooring_plan::facts::Kind;
use mooring_plan::names::InstanceId;
use mooring_plan::objects::{DesiredIp, Namespaces};
use mooring_plan::outcome::Outcome;
use proptest::prelude::*;
use proptest::sample::select;

use crate::sim::{Fault, Sim, address, interface_of};

const PODS: [&str; 4] = ["a", "b", "c", "d"];
const NODES: [&str; 3] = ["n1", "n2", "n3"];
const IPS: [&str; 2] = ["partner", "other"];
const ADDRESSES: [&str; 3] = ["203.0.113.10", "203.0.113.20", "203.0.113.30"];

/// What can happen to the world.
#[derive(Clone, Debug)]
enum Event {
    PodComes(&'static str, &'static str, &'static str, u8),
    PodIsReady(&'static str),
    PodIsDeleted(&'static str),
    PodGoes(&'static str),
    PodEnds(&'static str),
    AnnotationGoes(&'static str),
    LabelGoes(&'static str),
    Revision(u8, u64),
    NodeUnreachable(&'static str),
    NodeNotReady(&'static str),
    NodeIsWell(&'static str),
    NodeGoes(&'static str),
    NodeIsReplaced(&'static str),
    InstanceEnds(&'static str),
    InterfaceGoes(&'static str),
    InterfaceComes(&'static str),
    FoundOn(&'static str, Option<&'static str>),
    Edit(&'static str, &'static str),
    Reassign(&'static str, bool),
    IpIsDeleted(&'static str),
    IpComes(&'static str, &'static str),
    ReservationIsDeleted(&'static str),
    Leads(usize),
    Restart(usize),
    Relist(usize),
    WatchStops(usize, Kind),
    WatchGoesOn(usize),
    Fails(Fault),
    AnswerLost,
    ReadsFail(bool),
    WritesFail(bool),
    DescribeFails(bool),
    DescribeLags(u64),
    Steps(usize, u8),
    Wait(u64),
}

fn event() -> impl Strategy<Value = Event> {
    use Event as E;
    let (pod, node, ip) = (
        || select(&PODS[..]),
        || select(&NODES[..]),
        || select(&IPS[..]),
    );
    let addresses = || select(&ADDRESSES[..]);
    let fault = select(vec![
        Fault::None,
        Fault::Denied,
        Fault::Throttled,
        Fault::AnswerLost,
        Fault::RequestLost,
        Fault::NoRoom,
    ]);
    let kind = select(vec![Kind::Pod, Kind::Node, Kind::Reservation]);
    let pods = prop_oneof![
        8 => (pod(), node(), ip(), 0..4u8).prop_map(|(p, n, i, r)| E::PodComes(p, n, i, r)),
        4 => pod().prop_map(E::PodIsReady),
        4 => pod().prop_map(E::PodIsDeleted),
        4 => pod().prop_map(E::PodGoes),
        1 => pod().prop_map(E::PodEnds),
        2 => pod().prop_map(E::AnnotationGoes),
        1 => pod().prop_map(E::LabelGoes),
        2 => (1..4u8, 1..6u64).prop_map(|(set, revision)| E::Revision(set, revision)),
    ];
    let nodes = prop_oneof![
        node().prop_map(E::NodeUnreachable),
        node().prop_map(E::NodeNotReady),
        node().prop_map(E::NodeIsWell),
        node().prop_map(E::NodeIsWell),
        node().prop_map(E::NodeGoes),
        node().prop_map(E::NodeIsReplaced),
        node().prop_map(E::InstanceEnds),
        node().prop_map(E::InterfaceGoes),
        node().prop_map(E::InterfaceComes),
        (addresses(), proptest::option::of(node())).prop_map(|(a, n)| E::FoundOn(a, n)),
    ];
    let wishes = prop_oneof![
        2 => (ip(), addresses()).prop_map(|(i, a)| E::Edit(i, a)),
        1 => (ip(), any::<bool>()).prop_map(|(i, on)| E::Reassign(i, on)),
        1 => ip().prop_map(E::IpIsDeleted),
        2 => (ip(), addresses()).prop_map(|(i, a)| E::IpComes(i, a)),
        1 => addresses().prop_map(E::ReservationIsDeleted),
    ];
    let faults = prop_oneof![
        1 => (0..2usize).prop_map(E::Leads),
        2 => (0..2usize).prop_map(E::Restart),
        1 => (0..2usize).prop_map(E::Relist),
        1 => (0..2usize, kind).prop_map(|(c, kind)| E::WatchStops(c, kind)),
        2 => (0..2usize).prop_map(E::WatchGoesOn),
        5 => fault.prop_map(E::Fails),
        1 => Just(E::AnswerLost),
        1 => any::<bool>().prop_map(E::ReadsFail),
        1 => any::<bool>().prop_map(E::WritesFail),
        1 => any::<bool>().prop_map(E::DescribeFails),
        1 => (0..9u64).prop_map(E::DescribeLags),
    ];
    let time = prop_oneof![
        4 => (0..2usize, 1..8u8).prop_map(|(c, n)| E::Steps(c, n)),
        2 => (1..5_000u64).prop_map(E::Wait),
        1 => (1_000..100_000u64).prop_map(E::Wait),
    ];
    prop_oneof![10 => pods, 3 => nodes, 3 => wishes, 4 => faults, 12 => time]
}

/// Lets it happen, if it can.
fn happen(sim: &mut Sim, event: &Event) {
    match *event {
        Event::PodComes(pod, node, ip, set) => {
            if !sim.has_pod(pod) && sim.has_ip(ip) {
                let described = sim.pod(pod).on(node).asks(ip);
                match set {
                    0 => {}
                    set => {
                        let name = format!("rs{set}");
                        let _ = described.of_replica_set(&name, u64::from(set), "dep");
                    }
                }
            }
        }
        Event::PodIsReady(pod) => sim.containers_ready(pod),
        Event::PodIsDeleted(pod) => sim.delete_pod(pod),
        Event::PodGoes(pod) => sim.remove_pod(pod),
        Event::PodEnds(pod) => sim.change_pod(pod, |pod| pod.ended = true),
        Event::AnnotationGoes(pod) => sim.remove_annotation(pod),
        Event::LabelGoes(pod) => sim.change_pod(pod, |pod| pod.label = None),
        Event::Revision(set, revision) => {
            sim.replica_set(&format!("rs{set}"), revision, "dep", revision % 2);
        }
        Event::NodeUnreachable(node) => sim.node_unreachable(node),
        Event::NodeNotReady(node) => sim.change_node(node, |node| node.ready = false),
        Event::NodeIsWell(node) => sim.node_is_well(node),
        Event::NodeGoes(node) => sim.remove_node(node),
        Event::NodeIsReplaced(node) => {
            let other = InstanceId::new(format!("i-{node}-again"));
            sim.change_node(node, |node| node.instance = Some(other));
        }
        Event::InstanceEnds(node) => sim.instance(node, InstanceState::Terminated),
        Event::InterfaceGoes(node) => {
            sim.ec2.remember(sim.now);
            sim.ec2.delete_interface(&interface_of(node));
        }
        Event::InterfaceComes(node) => {
            if !sim.ec2.has(&interface_of(node)) {
                sim.interface(&format!("eni-{node}"), node);
            }
        }
        Event::FoundOn(text, node) => {
            let interface = node.map(|node| format!("eni-{node}"));
            sim.found_on(text, interface.as_deref());
        }
        Event::Edit(ip, text) => {
            if sim.has_ip(ip) {
                sim.edit(ip, text);
            }
        }
        Event::Reassign(ip, on) => {
            if sim.has_ip(ip) {
                sim.change_spec(ip, |desired| {
                    desired.reassign = if on {
                        Reassign::Allow
                    } else {
                        Reassign::Refuse
                    };
                });
            }
        }
        Event::IpIsDeleted(ip) => sim.delete_ip(ip),
        Event::IpComes(ip, text) => {
            if !sim.has_ip(ip) {
                let desired = DesiredIp {
                    address: Some(address(text)),
                    allowed_namespaces: Namespaces::All,
                    ..DesiredIp::default()
                };
                sim.ip_wishing(ip, desired);
            }
        }
        Event::ReservationIsDeleted(text) => sim.kube.delete_reservation(address(text)),
        Event::Leads(c) => sim.leader = Some(c % sim.controllers.len()),
        Event::Restart(c) => sim.restart(c % sim.controllers.len()),
        Event::Relist(c) => sim.relist(c % sim.controllers.len()),
        Event::WatchStops(c, kind) => {
            let c = c % sim.controllers.len();
            sim.controllers[c].stuck.insert(kind);
        }
        Event::WatchGoesOn(c) => {
            let c = c % sim.controllers.len();
            sim.controllers[c].stuck.clear();
        }
        Event::Fails(fault) => sim.ec2.faults.push_back(fault),
        Event::AnswerLost => sim.lost_answers.push_back(true),
        Event::ReadsFail(so) => sim.reads_fail = so,
        Event::WritesFail(so) => sim.refuses = if so { |_| true } else { |_| false },
        Event::DescribeFails(so) => sim.describe_fails = so.then_some(Outcome::Unknown),
        Event::DescribeLags(seconds) => sim.ec2.lag = Duration::from_secs(seconds),
        Event::Steps(c, count) => {
            for _ in 0..count {
                let _ = sim.step(c % sim.controllers.len());
            }
        }
        Event::Wait(millis) => sim.wait(Duration::from_millis(millis)),
    }
}

fn world(controllers: usize) -> Sim {
    let mut sim = Sim::new();
    if controllers == 2 {
        sim.second_controller();
    }
    sim.leader = Some(0);
    for node in NODES {
        sim.node(node);
    }
    sim.ip("partner", "203.0.113.10");
    sim.ip("other", "203.0.113.20");
    sim.wait(Duration::from_secs(3));
    sim
}

/// How many sequences are tried: more with `PROPTEST_CASES`.
fn cases() -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(150)
}

fn faults_stop(sim: &mut Sim) {
    sim.note("faults stop");
    sim.ec2.faults.clear();
    sim.ec2.lag = Duration::ZERO;
    sim.describe_fails = None;
    sim.reads_fail = false;
    sim.refuses = |_| false;
    sim.lost_answers.clear();
    for controller in &mut sim.controllers {
        controller.stuck.clear();
    }
}

fn check_promises(controllers: usize, events: &[Event]) {
    let mut sim = world(controllers);
    for event in events {
        happen(&mut sim, event);
    }
    faults_stop(&mut sim);
    sim.settle();
    sim.expect_the_wish();
}

/// Found by the property: the inventory of the replica that takes the edit does not show yet where the
/// other one attached, so that the place before the move has to be asked, too.
#[test]
fn an_edit_during_a_move_releases_no_attached_address() {
    check_promises(
        2,
        &[
            Event::PodComes("d", "n3", "other", 0),
            Event::IpIsDeleted("partner"),
            Event::Steps(0, 1),
            Event::Steps(1, 6),
            Event::PodComes("a", "n1", "other", 0),
            Event::Edit("other", "203.0.113.10"),
            Event::PodGoes("d"),
        ],
    );
}

/// Found by the property: a replica whose watch of the reservations lags forgot the place of the address
/// that was edited away.
#[test]
fn a_place_is_kept_while_the_watch_does_not_show_its_reservation() {
    check_promises(
        2,
        &[
            Event::PodComes("a", "n1", "partner", 0),
            Event::Wait(2),
            Event::WatchStops(1, Kind::Reservation),
            Event::Fails(Fault::Denied),
            Event::Edit("partner", "203.0.113.30"),
            Event::Steps(0, 2),
            Event::IpIsDeleted("partner"),
            Event::Steps(1, 4),
        ],
    );
}

/// Found by the property: the winner's node became another machine in the middle of the move, and the
/// address stayed where the loser had been.
#[test]
fn a_move_to_a_deleted_target_leaves_nothing() {
    check_promises(
        2,
        &[
            Event::PodComes("d", "n2", "partner", 0),
            Event::PodComes("a", "n1", "partner", 0),
            Event::Steps(1, 2),
            Event::NodeUnreachable("n2"),
            Event::PodGoes("d"),
            Event::Steps(0, 2),
            Event::NodeIsReplaced("n1"),
        ],
    );
}

/// Found by the property: a pod with `False` during an edit and `True` after it was not listed as a loser
/// when the address went on to another pod of its node.
#[test]
fn a_holder_that_an_edit_denied_is_denied_again_as_loser() {
    check_promises(
        1,
        &[
            Event::PodComes("d", "n2", "partner", 3),
            Event::Wait(2730),
            Event::Edit("partner", "203.0.113.30"),
            Event::InstanceEnds("n1"),
            Event::Wait(58271),
            Event::PodComes("a", "n1", "partner", 3),
            Event::LabelGoes("d"),
            Event::PodEnds("d"),
            Event::PodComes("b", "n2", "partner", 1),
        ],
    );
}

/// Found by the property: a foreign client puts an address back on our interface while its reservation is released.
#[test]
fn an_address_that_a_late_inventory_shows_is_not_released() {
    check_promises(
        1,
        &[
            Event::PodComes("a", "n1", "partner", 2),
            Event::Wait(2592),
            Event::IpComes("partner", "203.0.113.10"),
            Event::PodComes("c", "n2", "other", 0),
            Event::Steps(0, 2),
            Event::Edit("other", "203.0.113.30"),
            Event::Steps(0, 2),
            Event::PodGoes("c"),
            Event::Wait(53408),
            Event::DescribeLags(3),
            Event::FoundOn("203.0.113.20", Some("n2")),
            Event::Steps(0, 1),
            Event::Wait(2999),
        ],
    );
}

/// Found by the property: the winner of a rollout is claimed for while no watch shows that the holder is not annotated any
/// more. A rollout takes no read of the holder.
#[test]
fn a_rollout_from_a_pod_that_was_just_unannotated_takes_no_read_of_it() {
    check_promises(
        2,
        &[
            Event::PodComes("a", "n1", "other", 1),
            Event::PodComes("d", "n1", "other", 2),
            Event::Wait(5),
            Event::NodeUnreachable("n2"),
            Event::PodIsReady("d"),
            Event::Steps(0, 1),
            Event::WatchStops(0, Kind::Pod),
            Event::AnnotationGoes("a"),
            Event::Wait(3),
        ],
    );
}

/// Found by the property: an inventory that began after a foreign client moved an address may still show the time before.
#[test]
fn an_address_that_no_inventory_could_show_elsewhere_is_taken_from_there() {
    check_promises(
        1,
        &[
            Event::PodComes("a", "n1", "partner", 2),
            Event::Wait(1994),
            Event::PodComes("c", "n2", "other", 2),
            Event::Steps(0, 3),
            Event::PodIsDeleted("c"),
            Event::NodeGoes("n2"),
            Event::Reassign("other", true),
            Event::DescribeLags(1),
            Event::FoundOn("203.0.113.20", Some("n1")),
            Event::PodComes("b", "n3", "other", 0),
            Event::Edit("other", "203.0.113.10"),
            Event::Steps(0, 2),
        ],
    );
}

/// Found by the property: EC2 begins to throttle while another IP waits for an inventory, for longer than a moment.
#[test]
fn throttling_is_noticed_when_an_ip_would_call() {
    check_promises(
        2,
        &[
            Event::Wait(40712),
            Event::Wait(18291),
            Event::PodComes("a", "n1", "partner", 0),
            Event::DescribeFails(true),
            Event::PodComes("b", "n3", "other", 0),
            Event::Steps(0, 1),
            Event::InterfaceGoes("n3"),
            Event::Edit("partner", "203.0.113.10"),
            Event::AnnotationGoes("b"),
            Event::PodComes("a", "n1", "partner", 0),
            Event::Wait(27998),
            Event::Fails(Fault::Throttled),
            Event::PodGoes("a"),
            Event::Steps(0, 3),
        ],
    );
}

/// An IP that is deleted right after an edit is gone while its earlier address is still reserved for it.
#[test]
fn who_waits_for_the_earlier_address_of_an_ip_is_touched_when_that_ip_is_gone() {
    check_promises(
        2,
        &[
            Event::Edit("partner", "203.0.113.20"),
            Event::NodeUnreachable("n1"),
            Event::Steps(0, 1),
            Event::Edit("other", "203.0.113.30"),
            Event::Leads(1),
            Event::Steps(0, 2),
            Event::IpIsDeleted("other"),
            Event::Wait(7),
            Event::Steps(0, 1),
        ],
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn one_controller_meets_all_promises(events in prop::collection::vec(event(), 1..60)) {
        check_promises(1, &events);
    }

    #[test]
    fn two_controllers_meet_all_promises(events in prop::collection::vec(event(), 1..60)) {
        check_promises(2, &events);
    }
}
