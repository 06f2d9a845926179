//! Reads a `ReplicaSet`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::core::DynamicObject;
use mooring_plan::names::{DeploymentUid, ReplicaSetUid};
use mooring_plan::objects::ReplicaSet;
use serde::Deserialize;

use super::{
    FieldMask, Fields, Problem, Unreadable, annotation, controller, is_workload, part, uid,
};

/// Annotation of the Deployment controller: the revision of a `ReplicaSet`.
const REVISION: &str = "deployment.kubernetes.io/revision";
/// Label that distinguishes the `ReplicaSet`s of one Deployment.
const TEMPLATE_HASH: &str = "pod-template-hash";

/// The fields of a `ReplicaSet` that are read. Its template, a whole pod, is not.
#[derive(Clone, Copy, Debug)]
pub enum ReplicaSetFields {}

impl Fields for ReplicaSetFields {
    const MASK: &'static [(&'static str, FieldMask)] = &[(
        "spec",
        FieldMask::Fields(&[("replicas", FieldMask::All), ("selector", FieldMask::All)]),
    )];
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReplicaSetSpec {
    replicas: Option<i32>,
    selector: Option<LabelSelector>,
}

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
        deployment: controller(meta)
            .filter(|owner| is_workload(owner, "Deployment"))
            .map(|owner| DeploymentUid::from(owner.uid.as_str())),
        revision: annotation(meta, REVISION)
            .and_then(|text| text.parse().ok())
            .unwrap_or_default(),
        // The default is 1 (Kubernetes API reference, ReplicaSetSpec).
        replicas: spec
            .replicas
            .map_or(1, |replicas| u64::try_from(replicas).unwrap_or_default()),
    })
}

/// A label selector that matches all `ReplicaSet`s of the same Deployment, and perhaps others: the selector of this one
/// without the label that distinguishes them. None: nothing is left to select by, so every `ReplicaSet` may belong to
/// it.
///
/// # Errors
/// The spec does not match its schema.
pub fn template_selector(object: &DynamicObject) -> Result<Option<String>, Unreadable> {
    let spec = part::<ReplicaSetSpec>(object, "spec")
        .map_err(|problem| problem.of("ReplicaSet", object))?;
    let selector = spec.and_then(|spec| spec.selector).unwrap_or_default();
    let labels = selector.match_labels.unwrap_or_default();
    let labels = labels
        .iter()
        .filter(|(key, _)| *key != TEMPLATE_HASH)
        .map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.unwrap_or_default();
    let expressions = expressions
        .iter()
        .filter(|expression| expression.key != TEMPLATE_HASH)
        .filter_map(term);
    let terms: Vec<String> = labels.chain(expressions).collect();
    Ok((!terms.is_empty()).then(|| terms.join(",")))
}

/// The requirement as text of a selector. A requirement with an unknown operator is left out, so that more objects
/// match.
fn term(expression: &LabelSelectorRequirement) -> Option<String> {
    let key = &expression.key;
    let values = expression.values.as_deref().unwrap_or_default().join(",");
    match expression.operator.as_str() {
        "In" => Some(format!("{key} in ({values})")),
        "NotIn" => Some(format!("{key} notin ({values})")),
        "Exists" => Some(key.clone()),
        "DoesNotExist" => Some(format!("!{key}")),
        _ => None,
    }
}
