//! Removes the metadata that is not used.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::api::ObjectMeta;
use serde::Deserialize;

/// Annotation in which `kubectl apply` stores the whole object as text.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Removes `managedFields`, which are most of a small object, and the annotation that only `kubectl` reads.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReducedMetadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

impl From<ReducedMetadata> for ObjectMeta {
    fn from(kept: ReducedMetadata) -> Self {
        let mut annotations = kept.annotations;
        if let Some(annotations) = &mut annotations {
            annotations.remove(LAST_APPLIED);
        }
        Self {
            name: kept.name,
            namespace: kept.namespace,
            uid: kept.uid,
            resource_version: kept.resource_version,
            generation: kept.generation,
            creation_timestamp: kept.creation_timestamp,
            deletion_timestamp: kept.deletion_timestamp,
            deletion_grace_period_seconds: kept.deletion_grace_period_seconds,
            labels: kept.labels,
            annotations,
            finalizers: kept.finalizers,
            owner_references: kept.owner_references,
            ..Self::default()
        }
    }
}
