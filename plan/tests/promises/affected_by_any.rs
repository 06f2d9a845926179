//! Random events of several IPs: the controllers assert for every fact that each IP whose decision changes is affected
//! (`sim/affected.rs`). In a world of thousands of IPs, only few are affected.
//! Rule: R1.4.

use std::time::Duration;

use mooring_plan::facts::{Affected, Fact};
use mooring_plan::objects::{BlockStatus, Namespaces, Node};
use mooring_world::attached::{ip_name, node_name, pod_key};
use mooring_world::objects;
use proptest::prelude::*;

use crate::many_ips::{ManyIps, POD, block};
use crate::sim::Sim;

const IPS: [&str; 5] = ["partner", "b", "c", "d", "e"];
const NODES: [&str; 3] = ["n1", "n2", "n3"];

#[derive(Clone, Copy, Debug)]
enum Event {
    Pod { ip: usize, node: usize, bound: bool },
    PodIsReady(usize),
    PodIsDeleted(usize),
    PodGoes(usize),
    PodIsUnannotated(usize),
    NodeIsAway(usize),
    NodeIsWell(usize),
    NodeGoes(usize),
    InterfaceGoes(usize),
    Found { ip: usize, on: Option<usize> },
    Edited { ip: usize, last: u8 },
    IpIsDeleted(usize),
    IpIsMade(usize),
    Namespaces(bool),
    Excluded(bool),
    Relist,
    Restart,
    Wait(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let (ip, node, pod) = (0..IPS.len(), 0..NODES.len(), 0usize..12);
    prop_oneof![
        4 => (ip.clone(), node.clone(), any::<bool>())
            .prop_map(|(ip, node, bound)| Event::Pod { ip, node, bound }),
        1 => pod.clone().prop_map(Event::PodIsReady),
        1 => pod.clone().prop_map(Event::PodIsDeleted),
        2 => pod.clone().prop_map(Event::PodGoes),
        1 => pod.prop_map(Event::PodIsUnannotated),
        1 => node.clone().prop_map(Event::NodeIsAway),
        1 => node.clone().prop_map(Event::NodeIsWell),
        1 => node.clone().prop_map(Event::NodeGoes),
        1 => node.clone().prop_map(Event::InterfaceGoes),
        1 => (ip.clone(), proptest::option::of(node)).prop_map(|(ip, on)| Event::Found { ip, on }),
        1 => (ip.clone(), 10u8..24).prop_map(|(ip, last)| Event::Edited { ip, last }),
        1 => ip.clone().prop_map(Event::IpIsDeleted),
        1 => ip.prop_map(Event::IpIsMade),
        1 => any::<bool>().prop_map(Event::Namespaces),
        1 => any::<bool>().prop_map(Event::Excluded),
        1 => Just(Event::Relist),
        1 => Just(Event::Restart),
        6 => (1u64..90).prop_map(Event::Wait),
    ]
}

fn happens(sim: &mut Sim, number: usize, event: Event) {
    sim.note(format!("{event:?}"));
    let pods: Vec<String> = sim.kube.pods.keys().map(|key| key.name.clone()).collect();
    let pod = |number: usize| pods.get(number % pods.len().max(1));
    match event {
        Event::Pod { ip, node, bound } if sim.has_ip(IPS[ip]) => {
            let name = format!("p{number}");
            let revision = u64::try_from(number).unwrap();
            let made = sim.pod(&name).asks(IPS[ip]);
            let made = made.replica_set(&format!("rs{number}"), revision, IPS[ip]);
            if bound {
                made.on(NODES[node]);
            }
        }
        Event::PodIsReady(number) => _ = pod(number).map(|name| sim.containers_ready(name)),
        Event::PodIsDeleted(number) => _ = pod(number).map(|name| sim.delete_pod(name)),
        Event::PodGoes(number) => _ = pod(number).map(|name| sim.remove_pod(name)),
        Event::PodIsUnannotated(number) => _ = pod(number).map(|name| sim.remove_annotation(name)),
        Event::NodeIsAway(node) => sim.node_unreachable(NODES[node]),
        Event::NodeIsWell(node) => sim.node_is_well(NODES[node]),
        Event::NodeGoes(node) => sim.remove_node(NODES[node]),
        Event::InterfaceGoes(node) => {
            sim.ec2.remember(sim.now);
            sim.ec2
                .delete_interface(&crate::sim::interface_of(NODES[node]));
        }
        Event::Found { ip, on } if sim.has_ip(IPS[ip]) => {
            let on = on.map(|node| format!("eni-{}", NODES[node]));
            let there = |id: &String| sim.ec2.has(&id.as_str().into());
            if let Some(address) = sim.the_ip(IPS[ip]).status.address
                && on.as_ref().is_none_or(there)
            {
                sim.found_on(&address.to_string(), on.as_deref());
            }
        }
        Event::Edited { ip, last } if sim.has_ip(IPS[ip]) => {
            sim.edit(IPS[ip], &format!("203.0.113.{last}"));
        }
        Event::IpIsDeleted(ip) if sim.has_ip(IPS[ip]) => sim.delete_ip(IPS[ip]),
        Event::IpIsMade(ip) if !sim.has_ip(IPS[ip]) => sim.ip_of_block(IPS[ip], "block"),
        Event::Namespaces(some) => sim.change_block("block", |block| {
            if let Ok(spec) = &mut block.spec {
                spec.allowed_namespaces = if some {
                    Namespaces::listed(["elsewhere"])
                } else {
                    Namespaces::All
                };
            }
        }),
        Event::Excluded(some) => sim.change_block("block", |block| {
            if let Ok(spec) = &mut block.spec {
                let excluded = some.then_some("203.0.113.16/30");
                let range = mooring_plan::block::BlockRange::parse("203.0.113.0/24", excluded);
                spec.range = range.unwrap();
            }
        }),
        Event::Relist => sim.relist(0),
        Event::Restart => sim.restart(0),
        Event::Wait(seconds) => sim.wait(Duration::from_secs(seconds)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn an_ip_whose_decision_changes_is_affected(
        events in prop::collection::vec(event(), 1..40),
        limit in 2u32..6,
    ) {
        let mut sim = Sim::new();
        sim.ec2.limit_addresses(limit);
        for node in NODES {
            sim.node(node);
        }
        for (number, ip) in IPS.into_iter().enumerate() {
            sim.ip(ip, &format!("203.0.113.{}", 10 + number));
        }
        for (number, event) in events.into_iter().enumerate() {
            happens(&mut sim, number, event);
            // A few steps, so that the next event finds unfinished work.
            for _ in 0..number % 7 {
                let _ = sim.step(0);
            }
        }
        sim.wait(Duration::from_mins(5));
    }
}

fn several(ips: impl IntoIterator<Item = u32>) -> Affected {
    Affected::Several(ips.into_iter().map(ip_name).collect())
}

fn none() -> Affected {
    several([])
}

/// 2,000 IPs, 40 on each of 50 nodes.
fn many_ips() -> ManyIps {
    ManyIps::at_rest(2_000, 50)
}

#[test]
fn a_node_affects_the_ips_on_it() {
    let mut many_ips = many_ips();
    let mut away = |ready| {
        let known = many_ips.nodes[&node_name(7)].clone();
        many_ips.deliver(Fact::Node(Node { ready, ..known }))
    };
    let there = || several((0..2_000).filter(|number| number % 50 == 7));
    assert_eq!(away(false), there());
    assert_eq!(away(false), Affected::Nothing, "as is known");
    assert_eq!(away(true), there());
    let gone = |number| {
        let name = node_name(number);
        let uid = objects::node(name.as_str()).uid;
        Fact::NodeGone(name, uid)
    };
    assert_eq!(many_ips.deliver(gone(7)), there());
    let decided = there();
    let Affected::Several(affected) = decided else {
        unreachable!()
    };
    assert_eq!(affected.len(), 40);
    many_ips.node(50);
    let without_waiting_ips = many_ips.deliver(gone(50));
    assert_eq!(without_waiting_ips, none());
}

#[test]
fn an_inventory_affects_the_ips_that_it_shows_elsewhere() {
    let mut many_ips = many_ips();
    assert_eq!(many_ips.look(), none(), "nothing has changed");
    let (from, to) = ("eni-0003".into(), "eni-0004".into());
    let mut put = |ip: u32, on: &mooring_plan::names::InterfaceId, there: bool| {
        let address = many_ips
            .facts
            .ip(&ip_name(ip))
            .unwrap()
            .status
            .address
            .unwrap();
        let addresses = &mut many_ips.interfaces.get_mut(on).unwrap().addresses;
        if there {
            addresses.insert(address);
        } else {
            addresses.remove(&address);
        }
    };
    put(3, &from, false);
    put(53, &from, false);
    put(53, &to, true);
    assert_eq!(many_ips.look(), several([3, 53]));
    assert_eq!(many_ips.look(), several([3, 53]), "they are not at rest");
    // The ENI of a whole node disappears.
    let mut many_ips = self::many_ips();
    many_ips.interfaces.remove(&"eni-0009".into());
    assert_eq!(
        many_ips.look(),
        several((0..2_000).filter(|number| number % 50 == 9))
    );
}

#[test]
fn the_spec_of_a_block_affects_its_ips_and_its_status_none() {
    let mut many_ips = many_ips();
    let mut known = block();
    known.status = BlockStatus {
        free: 7,
        ..BlockStatus::default()
    };
    assert_eq!(many_ips.deliver(Fact::Block(known.clone())), none());
    assert_eq!(
        many_ips.deliver(Fact::Block(known.clone())),
        Affected::Nothing
    );
    let mut other = block();
    other.name = "other".into();
    assert_eq!(
        many_ips.deliver(Fact::Block(other)),
        none(),
        "they have what they want"
    );
    if let Ok(spec) = &mut known.spec {
        spec.failover_after = Duration::from_mins(1);
    }
    assert_eq!(many_ips.deliver(Fact::Block(known)), several(0..2_000));
}

#[test]
fn a_deletion_affects_all_related_ips_and_no_other() {
    let mut many_ips = many_ips();
    let (name, uid) = (
        ip_name(5),
        many_ips.facts.ip(&ip_name(5)).unwrap().uid.clone(),
    );
    let one = |number| Affected::One(ip_name(number));
    let gone = Fact::PodRead(pod_key(POD, 9), None);
    assert_eq!(many_ips.deliver(gone), one(9));
    assert_eq!(many_ips.deliver(Fact::IpGone(name, uid)), several([5]));
}
