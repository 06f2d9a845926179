//! A `ReplicaSet`.

use k8s_openapi::api::apps::v1::ReplicaSetSpec;
use kube::core::DynamicObject;
use mooring_plan::names::{DeploymentUid, ReplicaSetUid};
use mooring_plan::objects::ReplicaSet;

use super::{Problem, Unreadable, annotation, controller, part, uid};

/// Annotation that the Deployment's controller keeps: the rollout that a `ReplicaSet` belongs to.
const REVISION: &str = "deployment.kubernetes.io/revision";
/// Label that tells the `ReplicaSet`s of one Deployment apart.
const TEMPLATE_HASH: &str = "pod-template-hash";

/// Reads a `ReplicaSet`.
///
/// # Errors
/// Its identity is missing, or a part does not match its schema.
pub fn replica_set(object: &DynamicObject) -> Result<ReplicaSet, Unreadable> {
    read(object).map_err(|problem| problem.of("ReplicaSet", object))
}

fn read(object: &DynamicObject) -> Result<ReplicaSet, Problem> {
    let meta = &object.metadata;
    let spec = part::<ReplicaSetSpec>(object, "spec")?.unwrap_or_default();
    Ok(ReplicaSet {
        uid: ReplicaSetUid::from(uid(meta)?),
        deployment: controller(meta, "Deployment")
            .map(|owner| DeploymentUid::from(owner.uid.as_str())),
        revision: annotation(meta, REVISION)
            .and_then(|text| text.parse().ok())
            .unwrap_or_default(),
        // Left out means one (Kubernetes API reference, ReplicaSetSpec).
        replicas: spec
            .replicas
            .map_or(1, |replicas| u64::try_from(replicas).unwrap_or_default()),
    })
}

/// A label selector that finds every `ReplicaSet` of the same Deployment, and perhaps others: its own
/// without the label that tells them apart. None where nothing would be left to select by.
///
/// # Errors
/// The spec does not match its schema.
pub fn template_selector(object: &DynamicObject) -> Result<Option<String>, Unreadable> {
    let spec = part::<ReplicaSetSpec>(object, "spec")
        .map_err(|problem| problem.of("ReplicaSet", object))?;
    let labels = spec
        .and_then(|spec| spec.selector.match_labels)
        .unwrap_or_default();
    let terms: Vec<String> = labels
        .iter()
        .filter(|(key, _)| *key != TEMPLATE_HASH)
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    Ok((!terms.is_empty()).then(|| terms.join(",")))
}
