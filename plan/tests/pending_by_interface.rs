//! The index of unfinished claims by ENI is updated with each fact and always equals the result of a full scan.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::facts::{Fact, Facts, Settings, WriteOutcome, Written};
use mooring_plan::names::{
    ClaimId, InterfaceId, InterfaceRef, IpName, IpUid, NodeName, PodKey, PodUid, ResourceVersion,
};
use mooring_plan::objects::{Claim, ClaimPhase, DesiredIp, Ip, IpStatus, Target};
use mooring_plan::step::Write;
use mooring_plan::time::Instant;
use proptest::prelude::*;
use proptest::sample::select;

const NAMES: [&str; 3] = ["one", "two", "three"];
const INTERFACES: [&str; 2] = ["eni-a", "eni-b"];

fn address(name: &str) -> Address {
    let number = NAMES.iter().position(|of| *of == name).unwrap();
    Address::v4([203, 0, 113, u8::try_from(number).unwrap()])
}

fn phase() -> impl Strategy<Value = Option<ClaimPhase>> {
    let target = || {
        select(&INTERFACES[..]).prop_map(|interface| Target {
            node: NodeName::from("node"),
            place: InterfaceRef {
                interface: InterfaceId::from(interface),
                instance: "i-node".into(),
            },
        })
    };
    prop_oneof![
        1 => Just(None),
        4 => target().prop_map(|target| Some(ClaimPhase::Claimed(target))),
        2 => target().prop_map(|target| Some(ClaimPhase::Recorded(target))),
        1 => Just(Some(ClaimPhase::Detaching)),
    ]
}

fn ip() -> impl Strategy<Value = Ip> {
    (select(&NAMES[..]), 0..2u8, 0..20u64, phase()).prop_map(|(name, uid, version, phase)| Ip {
        version: ResourceVersion(version),
        finalizer: true,
        status: IpStatus {
            address: Some(address(name)),
            claim: phase.map(|phase| Claim {
                pod: PodKey::new("default", "pod"),
                uid: PodUid::from("pod"),
                id: ClaimId(1),
                phase,
            }),
            ..IpStatus::default()
        },
        ..mooring_world::objects::ip(name, format!("{name}-{uid}"), DesiredIp::default())
    })
}

/// All facts that add or remove an IP.
fn fact() -> impl Strategy<Value = Fact> {
    let wrote = |ip: Ip| {
        let write = Write::AddFinalizer {
            ip: ip.name.clone(),
            version: ip.version,
        };
        let outcome = WriteOutcome::Done(Some(Written::Ip(ip.clone())));
        Fact::Wrote {
            ip: ip.name,
            write,
            outcome,
        }
    };
    let name = || select(&NAMES[..]).prop_map(IpName::from);
    prop_oneof![
        4 => ip().prop_map(Fact::Ip),
        2 => ip().prop_map(wrote),
        2 => ip().prop_map(|ip| Fact::IpRead(ip.name.clone(), Some(ip))),
        1 => (name(), 0..2u8).prop_map(|(name, uid)| {
            let uid = IpUid::new(format!("{name}-{uid}"));
            Fact::IpGone(name, uid)
        }),
        1 => name().prop_map(|name| Fact::IpRead(name, None)),
    ]
}

proptest! {
    #[test]
    fn the_count_equals_a_full_scan_of_all_ips(
        facts in prop::collection::vec(fact(), 1..40),
    ) {
        let settings = Settings { inventory_interval: Duration::from_mins(1) };
        let mut known = Facts::new(settings);
        for (now, fact) in facts.into_iter().enumerate() {
            let now = Instant::from_millis(u64::try_from(now).unwrap());
            known.apply(fact, now, now);
            for interface in INTERFACES.map(InterfaceId::from) {
                let counted: Vec<&IpName> = known.pending_for(&interface).map(|(name, _)| name).collect();
                let found: Vec<&IpName> = known
                    .ip_names()
                    .filter(|name| {
                        let claim = known.ip(name).unwrap().status.claim.as_ref();
                        claim.is_some_and(|claim| {
                            matches!(&claim.phase, ClaimPhase::Claimed(to) if to.place.interface == interface)
                        })
                    })
                    .collect();
                prop_assert_eq!(counted, found, "to {}", interface);
            }
        }
    }
}
