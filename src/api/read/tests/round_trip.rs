//! A status that is written and read again is unchanged.

use mooring_plan::address::Address;
use mooring_plan::names::{
    BlockName, ClaimId, InstanceId, InterfaceId, InterfaceRef, MacAddress, Namespace, NodeName,
    PodKey, PodUid, WorkloadUid,
};
use mooring_plan::objects::{
    BlockStatus, Claim, ClaimPhase, Condition, Conditions, IpStatus, Previous, Refused, Target,
    Workload,
};
use mooring_plan::reason::Reason;
use mooring_plan::step::Moved;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::at;
use crate::api;
use crate::api::read::ip_status::{FIELDS, write};
use crate::api::read::{block_status_patch, ip_status_patch, read_block_status, read_ip_status};

fn word() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9-]{0,11}"
}

fn named<T>(of: fn(&str) -> T) -> impl Strategy<Value = T>
where
    T: std::fmt::Debug,
{
    word().prop_map(move |text| of(&text))
}

fn address() -> impl Strategy<Value = Address> {
    any::<u32>().prop_map(Address::v4)
}

fn pod() -> impl Strategy<Value = (PodKey, PodUid)> {
    (word(), word(), word())
        .prop_map(|(namespace, name, uid)| (PodKey::new(namespace, name), PodUid::new(uid)))
}

fn target() -> impl Strategy<Value = Target> {
    (
        named(|text| NodeName::from(text)),
        named(|text| InterfaceId::from(text)),
        named(|text| InstanceId::from(text)),
    )
        .prop_map(|(node, interface, instance)| Target {
            node,
            place: InterfaceRef {
                interface,
                instance,
            },
        })
}

fn claim() -> impl Strategy<Value = Claim> {
    let phase = prop_oneof![
        target().prop_map(ClaimPhase::Claimed),
        target().prop_map(ClaimPhase::Recorded),
        Just(ClaimPhase::Detaching),
    ];
    (pod(), any::<u64>(), phase).prop_map(|((pod, uid), id, phase)| Claim {
        pod,
        uid,
        id: ClaimId(id),
        phase,
    })
}

fn reason() -> impl Strategy<Value = Reason> {
    proptest::sample::select(Reason::ALL)
}

fn condition() -> impl Strategy<Value = Condition> {
    (any::<bool>(), reason(), ".{0,40}", 0i64..1_000_000).prop_map(
        |(status, reason, message, generation)| Condition {
            status,
            reason,
            message,
            generation,
        },
    )
}

fn previous() -> impl Strategy<Value = Previous> {
    let instance = option::of(named(|text| InstanceId::from(text)));
    (
        address(),
        named(|text| InterfaceId::from(text)),
        instance,
        option::of(pod()),
    )
        .prop_map(|(address, interface, instance, holder)| Previous {
            address,
            interface,
            instance,
            holder,
        })
}

fn refused() -> impl Strategy<Value = Refused> {
    (
        named(|text| PodUid::from(text)),
        named(|text| InterfaceId::from(text)),
        reason(),
    )
        .prop_map(|(pod, interface, reason)| Refused {
            pod,
            interface,
            reason,
        })
}

fn ip_status() -> impl Strategy<Value = IpStatus> {
    let conditions = (
        option::of(condition()),
        option::of(condition()),
        option::of(condition()),
        option::of(condition()),
        option::of(condition()),
    )
        .prop_map(
            |(reserved, attached, programmed, verified, ready)| Conditions {
                reserved,
                attached,
                programmed,
                verified,
                ready,
            },
        );
    (
        option::of(address()),
        option::of(named(|text| BlockName::from(text))),
        option::of(claim()),
        option::of(named(|text| MacAddress::from(text))),
        option::of((
            named(|text| Namespace::from(text)),
            named(|text| WorkloadUid::from(text)),
        )),
        vec(previous(), 0..9),
        option::of(refused()),
        conditions,
    )
        .prop_map(
            |(address, block, claim, mac, workload, previous, refused, conditions)| IpStatus {
                address,
                block,
                claim,
                mac,
                workload: workload.map(|(namespace, uid)| Workload { namespace, uid }),
                previous,
                refused,
                conditions,
            },
        )
}

fn block_status() -> impl Strategy<Value = BlockStatus> {
    let kinds =
        proptest::sample::select(&["Ready", "SharedWithCNI", "OrphanedAddress", "BrakeEngaged"]);
    let count = || 0u64..10_000;
    (
        vec("10\\.0\\.[0-9]\\.0/24", 0..3),
        [count(), count(), count(), count(), count(), count()],
        btree_map(kinds.prop_map(str::to_owned), condition(), 0..4),
    )
        .prop_map(
            |(subnet_cidrs, [capacity, reserved, attached, foreign, free, nodes], conditions)| {
                BlockStatus {
                    subnet_cidrs,
                    capacity,
                    reserved,
                    attached,
                    foreign,
                    free,
                    nodes,
                    conditions,
                }
            },
        )
}

/// Applies a merge patch (RFC 7386) to an object without nested objects. Lists are replaced as a whole.
fn merged(mut object: Value, patch: Value) -> Value {
    let (Value::Object(fields), Value::Object(patch)) = (&mut object, patch) else {
        panic!("objects both")
    };
    for (field, value) in patch {
        match (value, fields.get_mut(&field)) {
            (Value::Null, _) => {
                fields.remove(&field);
            }
            (Value::Object(inner), Some(present @ Value::Object(_))) => {
                *present = merged(present.take(), Value::Object(inner));
            }
            (value, _) => {
                fields.insert(field, value);
            }
        }
    }
    object
}

proptest! {
    #[test]
    fn the_status_of_an_ip_survives_a_round_trip_over_any_other(before in ip_status(), status in ip_status()) {
        let before = write(&before, &api::IpStatus::default(), Moved::Yes, &at(1));
        let patch = ip_status_patch(&status, &before, Moved::No, &at(2)).unwrap();
        let after = merged(serde_json::to_value(&before).unwrap(), patch);
        let after: api::IpStatus = serde_json::from_value(after).unwrap();
        prop_assert_eq!(&after.last_move_time, &Some(at(1)));
        prop_assert_eq!(read_ip_status(&after).unwrap(), status);
    }

    #[test]
    fn the_status_of_a_block_survives_a_round_trip_over_any_other(before in block_status(), status in block_status()) {
        let before = serde_json::from_value(
            block_status_patch(&before, &api::IpBlockStatus::default(), &at(1)).map(|patch| merged(json!({}), patch)).unwrap(),
        ).unwrap();
        let patch = block_status_patch(&status, &before, &at(2)).unwrap();
        let after = merged(serde_json::to_value(&before).unwrap(), patch);
        prop_assert_eq!(read_block_status(&serde_json::from_value(after).unwrap()), status);
    }

    #[test]
    fn every_field_of_the_status_is_in_the_list_for_nulls(status in ip_status()) {
        let written = serde_json::to_value(write(&status, &api::IpStatus::default(), Moved::Yes, &at(1))).unwrap();
        for field in written.as_object().unwrap().keys() {
            prop_assert!(FIELDS.contains(&field.as_str()), "{}", field);
        }
    }
}
