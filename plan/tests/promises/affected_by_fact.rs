//! Which IPs a fact affects: a missing IP would not be reconciled, and too many IPs cost time.
//! Rule: R1.4.

use std::time::Duration;

use mooring_plan::cloud::Subnet;
use mooring_plan::facts::{Affected, Fact, Kind};
use mooring_plan::names::{IpName, IpUid, ResourceVersion, SubnetId};
use mooring_plan::objects::Reservation;
use mooring_world::objects;

use crate::sim::{SUBNET, Sim, address, key};

/// One IP that a pod of n1 holds.
fn world() -> Sim {
    let mut sim = Sim::new();
    for node in ["n1", "n2"] {
        sim.node(node);
    }
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.settle();
    sim.deliver(0);
    sim
}

fn partner() -> Affected {
    Affected::One(IpName::from("partner"))
}

fn several(names: &[&str]) -> Affected {
    Affected::Several(names.iter().map(|name| IpName::from(*name)).collect())
}

#[test]
fn a_known_fact_affects_no_ip() {
    let mut sim = world();
    let kube = sim.kube.clone();
    let known = [
        Fact::Ip(kube.ips.values().next().unwrap().clone()),
        Fact::Block(kube.blocks.values().next().unwrap().clone()),
        Fact::Pod(kube.pods.values().next().unwrap().clone()),
        Fact::Node(kube.nodes.values().next().unwrap().clone()),
        Fact::Reservation(kube.reservations.values().next().unwrap().clone()),
        Fact::Synced(Kind::Ip),
        Fact::SubnetRead(
            SubnetId::from(SUBNET),
            Subnet::untagged(vec!["203.0.113.0/24".parse().unwrap()]),
        ),
        Fact::LimitsRead([("m5.large".into(), sim.ec2.limit())].into()),
    ];
    for fact in known {
        let text = format!("{fact:?}");
        assert_eq!(sim.apply(fact), Affected::Nothing, "{text}");
    }
}

#[test]
fn a_new_fact_affects_the_ips_it_is_about() {
    let mut sim = world();
    let kube = sim.kube.clone();
    let mut block = kube.blocks.values().next().unwrap().clone();
    block.release_brake = true;
    assert_eq!(sim.apply(Fact::Block(block)), several(&["partner"]));
    let mut pod = kube.pods[&key("a")].clone();
    pod.version = ResourceVersion(1_000);
    assert_eq!(sim.apply(Fact::Pod(pod.clone())), partner());
    // The label changed: the IP of the former label has lost a pod.
    pod.version = ResourceVersion(1_001);
    pod.label = Some("other".into());
    assert_eq!(sim.apply(Fact::Pod(pod)), several(&["other", "partner"]));
    let elsewhere = vec!["198.51.100.0/24".parse().unwrap()];
    let fact = Fact::SubnetRead(SubnetId::from(SUBNET), Subnet::untagged(elsewhere));
    assert_eq!(sim.apply(fact), Affected::All);
    let fact = Fact::LimitsRead([("m5.large".into(), 2)].into());
    assert_eq!(sim.apply(fact), Affected::All);
    let fact = Fact::Restored(Kind::Ip);
    assert_eq!(sim.apply(fact), Affected::All, "a backup");
}

#[test]
fn a_reservation_affects_its_ip_by_label_owner_or_reference() {
    let sim = world();
    let uid = sim.the_ip("partner").uid.clone();
    let known = sim.kube.reservations[&address("203.0.113.10")].clone();
    let stripped = Reservation {
        version: ResourceVersion(1_000),
        label: None,
        owner: None,
        parent: None,
        ..known
    };
    let fact = Fact::Reservation(stripped.clone());
    let mut facts = sim.controllers[0].facts().clone();
    let affected = facts.apply(fact, sim.now, sim.now);
    assert_eq!(affected, partner(), "it was its until now");
    let ownerless = Reservation {
        address: address("203.0.113.66"),
        ..stripped
    };
    let other = IpUid::from("another");
    for (reservation, affected) in [
        (ownerless.clone(), Affected::Nothing),
        (
            Reservation {
                label: Some(uid.clone()),
                ..ownerless.clone()
            },
            partner(),
        ),
        (
            Reservation {
                owner: Some(uid),
                ..ownerless.clone()
            },
            partner(),
        ),
        (
            Reservation {
                parent: Some("partner".into()),
                ..ownerless.clone()
            },
            partner(),
        ),
        (
            Reservation {
                label: Some(other),
                parent: Some("another".into()),
                ..ownerless
            },
            Affected::Nothing,
        ),
    ] {
        let text = format!("{reservation:?}");
        let mut facts = sim.controllers[0].facts().clone();
        let version = ResourceVersion(1_000);
        let fact = Fact::Reservation(Reservation {
            version,
            ..reservation
        });
        assert_eq!(facts.apply(fact, sim.now, sim.now), affected, "{text}");
    }
}

#[test]
fn only_a_later_reservation_is_applied_also_if_it_was_created_again() {
    let mut sim = world();
    let known = sim.kube.reservations[&address("203.0.113.10")].clone();
    for uid in [known.uid.as_str(), "another"] {
        let older = Reservation {
            uid: uid.to_owned(),
            version: ResourceVersion(1),
            ..known.clone()
        };
        let affected = sim.apply(Fact::Reservation(older));
        assert_eq!(affected, Affected::Nothing, "{uid}");
    }
    let recreated = Reservation {
        uid: "another".to_owned(),
        version: sim.kube.bump(),
        ..known
    };
    assert_eq!(sim.apply(Fact::Reservation(recreated)), partner());
}

#[test]
fn an_ip_with_another_uid_is_another_ip_whatever_its_version() {
    let mut sim = world();
    let mut recreated = sim.the_ip("partner").clone();
    recreated.version = ResourceVersion(1);
    assert_eq!(sim.apply(Fact::Ip(recreated.clone())), Affected::Nothing);
    recreated.uid = "recreated".into();
    assert_eq!(sim.apply(Fact::Ip(recreated)), partner());
}

#[test]
fn a_deletion_affects_only_related_ips() {
    let mut sim = world();
    let uid = sim.the_pod("a").uid.clone();
    assert_eq!(sim.apply(Fact::PodDeleted(uid.clone())), partner());
    assert_eq!(sim.apply(Fact::PodDeleted(uid)), Affected::Nothing, "again");
    let gone = address("203.0.113.10");
    let uid = sim.kube.reservations[&gone].uid.clone();
    let gone = Fact::ReservationGone(gone, uid);
    assert_eq!(sim.apply(gone.clone()), partner());
    assert_eq!(sim.apply(gone), Affected::Nothing);
    let gone = |name: &str| Fact::NodeGone(name.into(), objects::node(name).uid);
    assert_eq!(sim.apply(gone("unknown")), Affected::Nothing);
    assert_eq!(sim.apply(gone("n2")), several(&[]));
    let gone = sim.apply(gone("n1"));
    assert_eq!(gone, several(&["partner"]), "its holder is there");
    // Others can wait for its address.
    let uid = sim.the_ip("partner").uid.clone();
    assert_eq!(
        sim.apply(Fact::IpGone(IpName::from("partner"), uid.clone())),
        several(&["partner"])
    );
    assert_eq!(
        sim.apply(Fact::IpGone(IpName::from("partner"), uid.clone())),
        Affected::Nothing
    );
}

#[test]
fn an_ip_does_not_affect_a_pod_with_the_label_of_another() {
    let mut sim = world();
    sim.pod("b").on("n2");
    sim.deliver(0);
    let partner = IpName::from("partner");
    let notices = |sim: &Sim| {
        let facts = sim.controllers[0].facts();
        facts.decide(&partner, sim.now).notices.len()
    };
    assert_eq!(notices(&sim), 1, "it waits for what another holds");
    sim.change_pod("b", |pod| pod.label = Some("other".into()));
    sim.deliver(0);
    assert_eq!(notices(&sim), 0);
}

#[test]
fn a_read_affects_the_same_ips_as_a_watch() {
    let mut sim = world();
    let mut node = sim.kube.nodes.values().next().unwrap().clone();
    node.ready = false;
    let shown = Fact::NodeRead(node.name.clone(), Some(node.clone()));
    assert_eq!(sim.apply(shown), several(&["partner"]));
    assert_eq!(sim.apply(Fact::Node(node.clone())), Affected::Nothing);
    sim.now = sim.now.plus(Duration::from_millis(1));
    let gone = Fact::NodeRead(node.name, None);
    assert_eq!(sim.apply(gone.clone()), several(&["partner"]));
    assert_eq!(sim.apply(gone), Affected::Nothing);
    let mut held = sim.kube.reservations[&address("203.0.113.10")].clone();
    held.version = ResourceVersion(1_000);
    let shown = Fact::ReservationRead(held.address, Some(held.clone()));
    assert_eq!(sim.apply(shown), partner());
    let known = Fact::Reservation(held);
    assert_eq!(sim.apply(known), Affected::Nothing);
    // Others can wait for its address.
    let missed = Fact::IpRead(IpName::from("partner"), None);
    assert_eq!(sim.apply(missed.clone()), several(&["partner"]));
    assert_eq!(sim.apply(missed), Affected::Nothing);
}
