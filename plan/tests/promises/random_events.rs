//! Events that change the world, chosen at random: pods, nodes, edits, faults, and the passing of time.

use std::time::Duration;

use mooring_plan::cloud::{InstanceState, Reassign};
use mooring_plan::facts::Kind;
use mooring_plan::names::InstanceId;
use mooring_plan::objects::{DesiredIp, Namespaces};
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Call, StatusWrite, Write};
use proptest::prelude::*;
use proptest::sample::select;

use crate::sim::{Fault, Sim, address, interface_of};

const PODS: [&str; 4] = ["a", "b", "c", "d"];
pub const NODES: [&str; 3] = ["n1", "n2", "n3"];
const IPS: [&str; 2] = ["partner", "other"];
const ADDRESSES: [&str; 3] = ["203.0.113.10", "203.0.113.20", "203.0.113.30"];

/// Kinds of writes that the API server can refuse. The first is none.
const FORBIDDEN: [fn(&Write) -> bool; 12] = [
    |_| false,
    |_| false,
    |_| true,
    |write| matches!(write, Write::Status { .. }),
    |write| {
        matches!(
            write,
            Write::Status {
                change: StatusWrite::Conditions,
                ..
            }
        )
    },
    |write| matches!(write, Write::Reserve { .. }),
    |write| matches!(write, Write::RepairReservation { .. }),
    |write| matches!(write, Write::Release(_)),
    |write| matches!(write, Write::Label { .. }),
    |write| matches!(write, Write::Gate(gate) if gate.status),
    |write| matches!(write, Write::Gate(gate) if !gate.status),
    |write| matches!(write, Write::Gate(gate) if gate.pod.name == "a"),
];

/// Calls that the IAM policy of the controllers can deny. The first is none.
const DENIED: [fn(&Call) -> Fault; 4] = [
    |_| Fault::None,
    |call| denied(call.interface() == &interface_of("n1")),
    |call| denied(call.interface() == &interface_of("n2")),
    |call| denied(matches!(call, Call::Unassign { .. })),
];

const fn denied(denied: bool) -> Fault {
    if denied { Fault::Denied } else { Fault::None }
}

/// An event that changes the world.
#[derive(Clone, Debug)]
pub enum Event {
    PodComes(&'static str, &'static str, &'static str, u8),
    PodIsPending(&'static str, &'static str),
    PodIsBound(&'static str, &'static str),
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
    DeniedOn(usize),
    AnswerLost,
    ReadsFail(bool),
    WritesFail(bool),
    Forbids(usize),
    DescribeFails(bool),
    DescribeLags(u64),
    AsksElsewhere(bool),
    Steps(usize, u8),
    Wait(u64),
}

pub fn event() -> impl Strategy<Value = Event> {
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
        1 => (pod(), ip()).prop_map(|(p, i)| E::PodIsPending(p, i)),
        2 => (pod(), node()).prop_map(|(p, n)| E::PodIsBound(p, n)),
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
    let ips = prop_oneof![
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
        2 => (0..DENIED.len()).prop_map(E::DeniedOn),
        1 => Just(E::AnswerLost),
        1 => any::<bool>().prop_map(E::ReadsFail),
        1 => any::<bool>().prop_map(E::WritesFail),
        2 => (0..FORBIDDEN.len()).prop_map(E::Forbids),
        1 => any::<bool>().prop_map(E::DescribeFails),
        1 => (0..9u64).prop_map(E::DescribeLags),
        1 => any::<bool>().prop_map(E::AsksElsewhere),
    ];
    let time = prop_oneof![
        4 => (0..2usize, 1..8u8).prop_map(|(c, n)| E::Steps(c, n)),
        2 => (1..5_000u64).prop_map(E::Wait),
        1 => (1_000..100_000u64).prop_map(E::Wait),
    ];
    prop_oneof![10 => pods, 3 => nodes, 3 => ips, 4 => faults, 12 => time]
}

fn pending_pod(sim: &mut Sim, pod: &str, ip: &str) {
    if !sim.has_pod(pod) && sim.has_ip(ip) {
        let _ = sim.pod(pod).asks(ip);
    }
}

fn bind(sim: &mut Sim, pod: &str, node: &str) {
    sim.change_pod(pod, |pod| {
        pod.node.get_or_insert_with(|| node.into());
    });
}

/// Region and account are settings of a process.
fn asks_elsewhere(sim: &mut Sim, so: bool) {
    sim.ec2.elsewhere = so;
    for controller in 0..sim.controllers.len() {
        sim.restart(controller);
    }
}

fn reassign(sim: &mut Sim, ip: &str, on: bool) {
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

/// Carries out an event, if it is possible.
pub fn happen(sim: &mut Sim, event: &Event) {
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
        Event::PodIsPending(pod, ip) => pending_pod(sim, pod, ip),
        Event::PodIsBound(pod, node) => bind(sim, pod, node),
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
        Event::Reassign(ip, on) => reassign(sim, ip, on),
        Event::IpIsDeleted(ip) => sim.delete_ip(ip),
        Event::IpComes(ip, text) => {
            if !sim.has_ip(ip) {
                let desired = DesiredIp {
                    address: Some(address(text)),
                    allowed_namespaces: Namespaces::All,
                    ..DesiredIp::default()
                };
                sim.ip_asking_for(ip, desired);
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
        Event::DeniedOn(which) => sim.ec2.default_fault = Some(DENIED[which]),
        Event::AnswerLost => sim.lost_answers.push_back(true),
        Event::ReadsFail(so) => sim.reads_fail = so,
        Event::WritesFail(so) => sim.refuses = if so { |_| true } else { |_| false },
        Event::Forbids(which) => sim.forbids = FORBIDDEN[which],
        Event::DescribeFails(so) => sim.describe_fails = so.then_some(Outcome::Unknown),
        Event::DescribeLags(seconds) => sim.ec2.lag = Duration::from_secs(seconds),
        Event::AsksElsewhere(so) => asks_elsewhere(sim, so),
        Event::Steps(c, count) => {
            for _ in 0..count {
                let _ = sim.step(c % sim.controllers.len());
            }
        }
        Event::Wait(millis) => sim.wait(Duration::from_millis(millis)),
    }
}
