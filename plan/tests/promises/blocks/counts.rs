//! Counts of the addresses of a block: each address is in one state, and an address that allocation skips is not free.

use std::collections::BTreeMap;

use mooring_plan::block::BlockRange;
use mooring_plan::names::{BlockName, IpName};
use mooring_plan::objects::Reservation;
use mooring_plan::reason::Reason;
use mooring_plan::step::Step;
use mooring_world::objects::reservation_of_others;
use proptest::prelude::*;

use super::{name, settle_block, status, steps, world};
use crate::sim::{INTERVAL, Sim, address, interface_of};

fn by_state(sim: &Sim) -> BTreeMap<&'static str, u64> {
    let counts = sim.controllers[0].facts().addresses_by_state();
    let of_block =
        |((block, state), count): ((BlockName, _), _)| (block == name()).then_some((state, count));
    counts.into_iter().filter_map(of_block).collect()
}

fn narrowed(sim: &mut Sim, cidr: &str) {
    sim.change_block("block", |block| {
        if let Ok(spec) = &mut block.spec {
            spec.range = BlockRange::parse(cidr, []).unwrap();
        }
    });
}

#[test]
fn every_reservable_address_is_in_one_state() {
    let mut sim = world();
    sim.ip("coming", "203.0.113.30");
    sim.ip("going", "203.0.113.40");
    sim.settle();
    sim.pod("b").on("n2").asks("coming");
    sim.step_until(|step| matches!(step, Step::Call(_)));
    sim.delete_ip("going");
    sim.deliver(0);
    let counts = by_state(&sim);
    let expected = [
        ("attached", 1),
        ("claimed", 1),
        ("deleting", 1),
        // The primary addresses of two ENIs.
        ("foreign", 2),
        ("free", 251 - 6),
        ("not_programmed", 0),
        ("reserved", 1),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
    let facts = sim.controllers[0].facts();
    assert_eq!(facts.block_of(&IpName::from("spare")), Some(name()));
    assert_eq!(facts.block_of(&IpName::from("nobody")), None);
}

#[test]
fn an_empty_block_is_counted_too() {
    let mut sim = Sim::new();
    sim.settle();
    settle_block(&mut sim);
    let counts = by_state(&sim);
    assert_eq!((counts["free"], counts.values().sum()), (251, 251u64));
}

#[test]
fn assigned_addresses_are_not_free_and_reserved_ones_not_foreign() {
    let mut sim = world();
    // In addition to two primary addresses: a foreign address, and an address that an IP reserves and a foreign client
    // has.
    sim.found_on("203.0.113.77", Some("eni-n2"));
    sim.found_on("203.0.113.20", Some("eni-n2"));
    // This address can never be reserved.
    sim.found_on("203.0.113.2", Some("eni-n2"));
    sim.wait(INTERVAL);
    let status = status(&mut sim);
    let counted = (
        status.capacity,
        status.reserved,
        status.foreign,
        status.free,
    );
    assert_eq!(counted, (251, 2, 3, 246));
}

#[test]
fn addresses_of_a_delegated_prefix_are_not_free() {
    let mut sim = world();
    let interface = sim.ec2.interface_mut(&interface_of("n2"));
    interface.prefixes = ["203.0.113.16/28".parse().unwrap()].into();
    sim.wait(INTERVAL);
    let status = status(&mut sim);
    // An IP reserves one of the sixteen addresses; two more addresses are primary.
    assert_eq!((status.reserved, status.foreign), (2, 15 + 2));
    assert_eq!(status.free, 251 - 2 - 17);
}

#[test]
fn addresses_reserved_by_an_unknown_ip_are_not_free() {
    let mut sim = world();
    let left = sim.kube.reservations[&address("203.0.113.20")].clone();
    let left = Reservation {
        address: address("203.0.113.66"),
        uid: "left".to_owned(),
        label: Some("gone".into()),
        owner: Some("gone".into()),
        parent: Some("gone".into()),
        ..left
    };
    sim.kube.bump();
    sim.kube.reservations.insert(left.address, left);
    let status = status(&mut sim);
    assert_eq!((status.reserved, status.free), (3, 246));
}

#[test]
fn counts_stay_until_ec2_answers_a_new_process() {
    let mut sim = world();
    let before = status(&mut sim);
    sim.restart(0);
    let written = steps(&mut sim).into_iter().find_map(|step| match step {
        mooring_plan::step::BlockStep::Status { status, .. } => Some(status),
        _ => None,
    });
    let counts = |status: &mooring_plan::objects::BlockStatus| {
        let cidrs = status.subnet_cidrs.clone();
        (cidrs, status.capacity, status.free, status.nodes)
    };
    let kept = written.unwrap_or_else(|| before.clone());
    assert_eq!(counts(&kept), counts(&before));
    sim.settle();
    assert_eq!(status(&mut sim), before);
}

#[test]
fn an_address_reserved_by_another_manager_is_not_free() {
    let mut sim = Sim::new();
    narrowed(&mut sim, "203.0.113.8/31");
    let service = Reservation {
        version: sim.kube.bump(),
        ..reservation_of_others("service", address("203.0.113.8"), None)
    };
    sim.kube.reservations.insert(service.address, service);
    sim.ip_of_block("one", "block");
    sim.ip_of_block("two", "block");
    sim.settle();
    let status = status(&mut sim);
    let counted = (
        status.capacity,
        status.reserved,
        status.foreign,
        status.free,
    );
    assert_eq!(counted, (2, 1, 1, 0), "one of them waits, and none is free");
}

/// The IPs that report that the block is exhausted.
fn exhausted(sim: &Sim) -> Vec<&IpName> {
    let with_reason = |reason| {
        move |ip: &&mooring_plan::objects::Ip| {
            let reserved = ip.status.conditions.reserved.as_ref();
            reserved.is_some_and(|condition| condition.reason == reason)
        }
    };
    let ips = sim.kube.ips.values();
    ips.filter(with_reason(Reason::BlockExhausted))
        .map(|ip| &ip.name)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_block_is_exhausted_exactly_when_no_address_is_free(
        nodes in 0usize..5,
        strangers in prop::collection::btree_set(0u8..16, 0..12),
        given in prop::collection::btree_set(0u8..16, 0..5),
        asking in 0usize..15,
    ) {
        let mut sim = Sim::new();
        for node in 0..=nodes {
            sim.node(&format!("n{node}"));
        }
        // 203.0.113.240 to .255: these include primary and foreign addresses, and the last one, which AWS reserves.
        narrowed(&mut sim, "203.0.113.240/28");
        for last in strangers {
            let stranger = address(&format!("203.0.113.{}", 240 + u16::from(last)));
            if sim.ec2.holder_of(stranger).is_none() {
                sim.found_on(&stranger.to_string(), Some("eni-n0"));
            }
        }
        for last in given {
            let last = 240 + u16::from(last);
            sim.ip(&format!("given-{last}"), &format!("203.0.113.{last}"));
        }
        sim.settle();
        for number in 0..asking {
            sim.ip_of_block(&format!("asking-{number}"), "block");
        }
        sim.settle();
        let status = status(&mut sim);
        let (waiting, counted) = (exhausted(&sim), (status.reserved, status.foreign, status.free));
        prop_assert_eq!(status.capacity, status.reserved + status.foreign + status.free);
        prop_assert_eq!(by_state(&sim).values().sum::<u64>(), status.capacity);
        prop_assert!(waiting.is_empty() || status.free == 0, "{:?} {:?}", waiting, counted);
        sim.ip_of_block("one-more", "block");
        sim.settle();
        prop_assert_eq!(exhausted(&sim).is_empty(), status.free > 0, "{:?}", counted);
    }
}
