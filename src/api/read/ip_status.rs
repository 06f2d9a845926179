//! Reads and writes the status of an `IP`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use mooring_plan::address::Address;
use mooring_plan::names::{
    BlockName, ClaimId, InstanceId, InterfaceId, InterfaceRef, MacAddress, Namespace, NodeName,
    PodKey, PodUid, WorkloadUid,
};
use mooring_plan::objects::{
    Claim, ClaimPhase, Conditions, IpStatus, Previous, Refused, Target, Workload,
};
use mooring_plan::reason::Reason;
use mooring_plan::step::Moved;
use serde_json::Value;

use super::{Problem, conditions};
use crate::api;
use crate::api::conditions::{ATTACHED, READY, RESERVED};

/// All fields of the status. A field without a value must be written as null, because a merge patch keeps it otherwise.
pub(super) const FIELDS: [&str; 17] = [
    "address",
    "block",
    "claimed",
    "pod",
    "podUID",
    "claimID",
    "assigned",
    "node",
    "instanceID",
    "networkInterfaceID",
    "macAddress",
    "workload",
    "previous",
    "lastMoveTime",
    "observedGeneration",
    "refused",
    "conditions",
];

/// Reads a status.
///
/// # Errors
/// A field for the place of an address cannot be read. It must not count as absent.
pub fn read_ip_status(status: &api::IpStatus) -> Result<IpStatus, Problem> {
    Ok(IpStatus {
        address: status
            .address
            .as_deref()
            .map(|text| address("status.address", text))
            .transpose()?,
        block: status.block.as_deref().map(BlockName::from),
        claim: claim(status)?,
        mac: status.mac_address.as_deref().map(MacAddress::from),
        workload: status.workload.as_ref().map(|workload| Workload {
            namespace: Namespace::from(workload.namespace.as_str()),
            uid: WorkloadUid::from(workload.uid.as_str()),
        }),
        previous: status
            .previous
            .iter()
            .map(previous)
            .collect::<Result<_, _>>()?,
        refused: status.refused.as_ref().map(|refused| Refused {
            pod: PodUid::from(refused.pod_uid.as_str()),
            interface: InterfaceId::from(refused.network_interface_id.as_str()),
            // Keep the entry even if its reason is unknown: the reason is informative, but the refusal must not be
            // lost.
            reason: Reason::from_word(&refused.reason).unwrap_or(Reason::AttachFailed),
        }),
        conditions: Conditions {
            reserved: conditions::read(&status.conditions, RESERVED),
            attached: conditions::read(&status.conditions, ATTACHED),
            programmed: conditions::read(&status.conditions, api::conditions::PROGRAMMED),
            verified: conditions::read(&status.conditions, api::conditions::VERIFIED),
            ready: conditions::read(&status.conditions, READY),
        },
    })
}

fn address(field: &'static str, text: &str) -> Result<Address, Problem> {
    text.parse().map_err(|_| Problem::Field {
        field,
        text: text.to_owned(),
        wanted: "an IPv4 address",
    })
}

fn pod_key(field: &'static str, text: &str) -> Result<PodKey, Problem> {
    PodKey::parse(text).ok_or_else(|| Problem::Field {
        field,
        text: text.to_owned(),
        wanted: "namespace/name",
    })
}

fn claim(status: &api::IpStatus) -> Result<Option<Claim>, Problem> {
    if !status.claimed {
        return Ok(None);
    }
    let pod = status
        .pod
        .as_deref()
        .ok_or(Problem::Missing("status.pod although it is claimed"))?;
    let uid = status
        .pod_uid
        .as_deref()
        .ok_or(Problem::Missing("status.podUID although it is claimed"))?;
    let phase = match (
        &status.node,
        &status.instance_id,
        &status.network_interface_id,
        status.assigned,
    ) {
        _ if status.is_detaching() => ClaimPhase::Detaching,
        (Some(node), Some(instance), Some(interface), assigned) => {
            let place = InterfaceRef {
                interface: InterfaceId::from(interface.as_str()),
                instance: InstanceId::from(instance.as_str()),
            };
            let target = Target {
                node: NodeName::from(node.as_str()),
                place,
            };
            if assigned {
                ClaimPhase::Recorded(target)
            } else {
                ClaimPhase::Claimed(target)
            }
        }
        _ => {
            return Err(Problem::Missing(
                "status.node, instanceID and networkInterfaceID together although it is claimed",
            ));
        }
    };
    Ok(Some(Claim {
        pod: pod_key("status.pod", pod)?,
        uid: PodUid::from(uid),
        id: claim_id(status)?,
        phase,
    }))
}

fn claim_id(status: &api::IpStatus) -> Result<ClaimId, Problem> {
    let Some(text) = &status.claim_id else {
        return Ok(ClaimId::default());
    };
    text.parse().map(ClaimId).map_err(|_| Problem::Field {
        field: "status.claimID",
        text: text.clone(),
        wanted: "a decimal number",
    })
}

fn previous(entry: &api::Previous) -> Result<Previous, Problem> {
    let holder = match (&entry.pod, &entry.pod_uid) {
        (Some(pod), Some(uid)) => Some((
            pod_key("status.previous.pod", pod)?,
            PodUid::from(uid.as_str()),
        )),
        _ => None,
    };
    Ok(Previous {
        address: address("status.previous.address", &entry.address)?,
        interface: InterfaceId::from(entry.network_interface_id.as_str()),
        instance: entry.instance_id.as_deref().map(InstanceId::from),
        holder,
    })
}

/// The `status` of a merge patch that replaces the fields of Mooring in `before`, and keeps fields of other versions of
/// Mooring.
///
/// # Errors
/// The status cannot be converted to JSON.
pub fn ip_status_patch(
    status: &IpStatus,
    before: &api::IpStatus,
    moved: Moved,
    now: &Time,
) -> Result<Value, serde_json::Error> {
    let written = serde_json::to_value(write(status, before, moved, now))?;
    with_nulls(written, &FIELDS)
}

/// Adds null for each field without a value, because a merge patch keeps the old value otherwise.
pub(super) fn with_nulls(value: Value, fields: &[&str]) -> Result<Value, serde_json::Error> {
    let mut map: serde_json::Map<String, Value> = serde_json::from_value(value)?;
    for field in fields {
        map.entry(*field).or_insert(Value::Null);
    }
    Ok(Value::Object(map))
}

pub(super) fn write(
    status: &IpStatus,
    before: &api::IpStatus,
    moved: Moved,
    now: &Time,
) -> api::IpStatus {
    let claim = status.claim.as_ref();
    let target = claim.and_then(Claim::target);
    let conditions = &status.conditions;
    let ours = [
        (RESERVED, &conditions.reserved),
        (ATTACHED, &conditions.attached),
        (api::conditions::PROGRAMMED, &conditions.programmed),
        (api::conditions::VERIFIED, &conditions.verified),
        (READY, &conditions.ready),
    ];
    let observed = ours
        .iter()
        .filter_map(|(_, condition)| condition.as_ref())
        .map(|condition| condition.generation);
    api::IpStatus {
        address: status.address.map(|address| address.to_string()),
        block: status.block.as_ref().map(ToString::to_string),
        claimed: claim.is_some(),
        pod: claim.map(|claim| claim.pod.to_string()),
        pod_uid: claim.map(|claim| claim.uid.to_string()),
        // An id of 0 is that of a claim that was written before ids existed.
        claim_id: claim
            .filter(|claim| claim.id != ClaimId::default())
            .map(|claim| claim.id.to_string()),
        assigned: claim.is_some_and(Claim::recorded),
        node: target.map(|target| target.node.to_string()),
        instance_id: target.map(|target| target.place.instance.to_string()),
        network_interface_id: target.map(|target| target.place.interface.to_string()),
        mac_address: status.mac.as_ref().map(ToString::to_string),
        workload: status.workload.as_ref().map(|workload| api::Workload {
            namespace: workload.namespace.to_string(),
            uid: workload.uid.to_string(),
        }),
        previous: status.previous.iter().map(entry).collect(),
        last_move_time: match moved {
            Moved::Yes => Some(now.clone()),
            Moved::No => before.last_move_time.clone(),
        },
        observed_generation: observed.max().or(before.observed_generation),
        refused: status.refused.as_ref().map(|refused| api::Refused {
            pod_uid: refused.pod.to_string(),
            network_interface_id: refused.interface.to_string(),
            reason: refused.reason.as_str().to_owned(),
        }),
        conditions: conditions::write(
            &before.conditions,
            now,
            ours.map(|(kind, condition)| (kind, condition.as_ref())),
        ),
    }
}

fn entry(previous: &Previous) -> api::Previous {
    let (pod, pod_uid) = previous
        .holder
        .as_ref()
        .map(|(pod, uid)| (pod.to_string(), uid.to_string()))
        .unzip();
    api::Previous {
        address: previous.address.to_string(),
        network_interface_id: previous.interface.to_string(),
        instance_id: previous.instance.as_ref().map(ToString::to_string),
        pod,
        pod_uid,
    }
}
