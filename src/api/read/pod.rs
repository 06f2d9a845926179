//! Reads a pod.

use std::collections::BTreeSet;

use kube::core::DynamicObject;
use mooring_plan::admission::syntax::is_dns_name;
use mooring_plan::names::{IpName, IpUid, NodeName, PodKey, PodUid, ReplicaSetUid, WorkloadUid};
use mooring_plan::objects::{Controller, Gate, Handover, Pod};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{
    FieldMask, Fields, Problem, Unreadable, annotation, controller, created, is_workload, label,
    name, part, uid, version_of,
};
use crate::api::names;

/// The fields of a pod that are read.
#[derive(Clone, Copy, Debug)]
pub enum PodFields {}

impl Fields for PodFields {
    const MASK: &'static [(&'static str, FieldMask)] = &[
        (
            "spec",
            FieldMask::Fields(&[
                ("nodeName", FieldMask::All),
                ("readinessGates", FieldMask::All),
                ("containers", FieldMask::Fields(&[("name", FieldMask::All)])),
            ]),
        ),
        (
            "status",
            FieldMask::Fields(&[
                ("phase", FieldMask::All),
                ("conditions", FieldMask::All),
                (
                    "containerStatuses",
                    FieldMask::Fields(&[("name", FieldMask::All), ("state", FieldMask::All)]),
                ),
            ]),
        ),
    ];
}

// Separate types, because the generated code that parses a whole pod takes 1 MB.

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSpec {
    node_name: Option<String>,
    readiness_gates: Option<Vec<ReadinessGate>>,
    containers: Option<Vec<Container>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ReadinessGate {
    condition_type: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Container {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodStatus {
    phase: Option<String>,
    conditions: Option<Vec<PodCondition>>,
    container_statuses: Option<Vec<ContainerStatus>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContainerStatus {
    name: String,
    state: Option<ContainerState>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContainerState {
    running: Option<IgnoredAny>,
}

/// Reads a pod.
///
/// # Errors
/// Its identity is missing, or a part does not match its schema.
pub fn pod(object: &DynamicObject) -> Result<Pod, Unreadable> {
    read(object).map_err(|problem| problem.of("Pod", object))
}

fn read(object: &DynamicObject) -> Result<Pod, Problem> {
    let meta = &object.metadata;
    let spec = part::<PodSpec>(object, "spec")?.unwrap_or_default();
    let status = part::<PodStatus>(object, "status")?.unwrap_or_default();
    let namespace = meta
        .namespace
        .as_deref()
        .ok_or(Problem::Missing("metadata.namespace"))?;
    let grace = || {
        meta.deletion_grace_period_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
    };
    Ok(Pod {
        uid: PodUid::from(uid(meta)?),
        key: PodKey::new(namespace, name(meta)?),
        version: version_of(meta)?,
        created: created(meta),
        node: spec
            .node_name
            .as_deref()
            .filter(|node| !node.is_empty())
            .map(NodeName::from),
        ended: matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")),
        deleting: meta
            .deletion_timestamp
            .as_ref()
            .map(|_| grace().unwrap_or_default()),
        annotated: annotation(meta, names::IP_ANNOTATION).is_some(),
        label: label(meta, names::IP_LABEL).map(IpName::from),
        ip: annotation(meta, names::IP_UID_ANNOTATION).map(IpUid::from),
        gated: spec
            .readiness_gates
            .iter()
            .flatten()
            .any(|gate| gate.condition_type == names::ATTACHED_GATE),
        gate: gate(&status),
        unready_gates: unready_gates(&spec, &status),
        containers_ready: condition(&status, "ContainersReady") == Some("True"),
        containers_running: all_running(&spec, &status),
        handover: match annotation(meta, names::HANDOVER_ANNOTATION) {
            Some(names::HANDOVER_RUNNING) => Handover::Running,
            // Admission refuses other values. If one is stored all the same, use the later handover.
            _ => Handover::ContainersReady,
        },
        controller: controller(meta).map(|owner| {
            let uid = owner.uid.as_str();
            // The user who creates the pod chooses the name, and it becomes a part of the path by which the `ReplicaSet`
            // is read.
            if is_workload(owner, "ReplicaSet") && is_dns_name(&owner.name) {
                Controller::ReplicaSet(owner.name.clone(), ReplicaSetUid::from(uid))
            } else {
                Controller::Other(WorkloadUid::from(uid))
            }
        }),
    })
}

fn condition<'a>(status: &'a PodStatus, kind: &str) -> Option<&'a str> {
    let condition = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.kind == kind)?;
    Some(&condition.status)
}

fn gate(status: &PodStatus) -> Option<Gate> {
    let gate = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.kind == names::ATTACHED_GATE)?;
    Some(Gate {
        status: gate.status == "True",
        reason: gate.reason.clone().unwrap_or_default(),
    })
}

/// The readiness gates, except the one of Mooring, whose conditions are not `True`.
fn unready_gates(spec: &PodSpec, status: &PodStatus) -> BTreeSet<String> {
    let gates = spec.readiness_gates.iter().flatten();
    gates
        .map(|gate| gate.condition_type.as_str())
        .filter(|gate| *gate != names::ATTACHED_GATE && condition(status, gate) != Some("True"))
        .map(str::to_owned)
        .collect()
}

fn all_running(spec: &PodSpec, status: &PodStatus) -> bool {
    let statuses = || status.container_statuses.iter().flatten();
    let running = |name: &str| {
        statuses().any(|container| {
            container.name == name
                && container
                    .state
                    .as_ref()
                    .is_some_and(|state| state.running.is_some())
        })
    };
    let containers = spec.containers.as_deref().unwrap_or_default();
    !containers.is_empty() && containers.iter().all(|container| running(&container.name))
}
