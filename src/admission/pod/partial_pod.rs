//! The fields of a pod that verdicts depend on. Other fields are skipped: for example, a list of volumes of three bytes
//! each would take a thousand times the memory after parsing.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, Pod, PodReadinessGate, PodSpec, Toleration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::admission::json_object::Object;

/// A pod in a review.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartialPod {
    #[serde(rename = "apiVersion")]
    _version: Version,
    #[serde(rename = "kind")]
    _kind: PodKind,
    #[serde(default)]
    metadata: ObjectMeta,
    spec: Option<Object<Spec>>,
}

#[derive(Debug, Deserialize)]
enum Version {
    #[serde(rename = "v1")]
    V1,
}

#[derive(Debug, Deserialize)]
enum PodKind {
    Pod,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    affinity: Option<Object<PartialAffinity>>,
    node_name: Option<String>,
    node_selector: Option<BTreeMap<String, String>>,
    readiness_gates: Option<Vec<PodReadinessGate>>,
    service_account_name: Option<String>,
    tolerations: Option<Vec<Toleration>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartialAffinity {
    node_affinity: Option<NodeAffinity>,
}

impl From<Object<PartialPod>> for Pod {
    fn from(Object(seen): Object<PartialPod>) -> Self {
        let spec = seen.spec.map(|Object(spec)| PodSpec {
            affinity: spec.affinity.map(|Object(affinity)| Affinity {
                node_affinity: affinity.node_affinity,
                ..Affinity::default()
            }),
            node_name: spec.node_name,
            node_selector: spec.node_selector,
            readiness_gates: spec.readiness_gates,
            service_account_name: spec.service_account_name,
            tolerations: spec.tolerations,
            ..PodSpec::default()
        });
        Self {
            metadata: seen.metadata,
            spec,
            status: None,
        }
    }
}
