//! Reads a Node.

use k8s_openapi::api::core::v1::Taint;
use kube::core::DynamicObject;
use mooring_plan::names::{BootId, InstanceId, InstanceType, NodeName};
use mooring_plan::objects::Node;
use serde::Deserialize;

use super::{FieldMask, Fields, Problem, Unreadable, created, label, name, part, uid, version_of};
use crate::api::names::{OUT_OF_SERVICE_EFFECT, OUT_OF_SERVICE_TAINT, OUT_OF_SERVICE_VALUE};

/// Taint of a node that the control plane cannot reach (Kubernetes, "Well-Known Labels").
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";

/// The fields of a Node that are read. Taints are kept whole, because a write of taints must keep those of others.
#[derive(Clone, Copy, Debug)]
pub enum NodeFields {}

impl Fields for NodeFields {
    const MASK: &'static [(&'static str, FieldMask)] = &[
        (
            "spec",
            FieldMask::Fields(&[("providerID", FieldMask::All), ("taints", FieldMask::All)]),
        ),
        (
            "status",
            FieldMask::Fields(&[
                (
                    "conditions",
                    FieldMask::Fields(&[("type", FieldMask::All), ("status", FieldMask::All)]),
                ),
                ("nodeInfo", FieldMask::Fields(&[("bootID", FieldMask::All)])),
            ]),
        ),
    ];
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeSpec {
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    taints: Option<Vec<Taint>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeStatus {
    conditions: Option<Vec<NodeCondition>>,
    #[serde(rename = "nodeInfo")]
    info: Option<NodeInfo>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeInfo {
    #[serde(rename = "bootID")]
    boot_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// Reads a Node.
///
/// # Errors
/// A part does not match its schema.
pub fn node(object: &DynamicObject) -> Result<Node, Unreadable> {
    read(object).map_err(|problem| problem.of("Node", object))
}

fn read(object: &DynamicObject) -> Result<Node, Problem> {
    let meta = &object.metadata;
    let spec = part::<NodeSpec>(object, "spec")?.unwrap_or_default();
    let status = part::<NodeStatus>(object, "status")?.unwrap_or_default();
    let tainted = |wanted: fn(&Taint) -> bool| spec.taints.iter().flatten().any(wanted);
    let ready = status
        .conditions
        .iter()
        .flatten()
        .any(|condition| condition.kind == "Ready" && condition.status == "True");
    Ok(Node {
        name: NodeName::from(name(meta)?),
        uid: uid(meta)?.to_owned(),
        version: version_of(meta)?,
        created: created(meta),
        instance: spec.provider_id.as_deref().and_then(instance_of),
        instance_type: label(meta, INSTANCE_TYPE).map(InstanceType::from),
        boot: status
            .info
            .and_then(|info| info.boot_id)
            .as_deref()
            .and_then(BootId::parse),
        ready,
        unreachable: tainted(|taint| taint.key == UNREACHABLE && taint.effect == "NoExecute"),
        out_of_service: tainted(|taint| taint.key == OUT_OF_SERVICE_TAINT),
        our_taint: tainted(is_our_taint),
        labels: meta.labels.clone().unwrap_or_default(),
    })
}

/// Whether fast failover has set the taint. The taint of a person has another value, or none.
#[must_use]
pub fn is_our_taint(taint: &Taint) -> bool {
    taint.key == OUT_OF_SERVICE_TAINT
        && taint.effect == OUT_OF_SERVICE_EFFECT
        && taint.value.as_deref() == Some(OUT_OF_SERVICE_VALUE)
}

/// The instance of a Node: the last part of `aws:///eu-west-1a/i-0123`. None: it is another provider, or not the id of
/// an instance.
#[must_use]
pub fn instance_of(provider_id: &str) -> Option<InstanceId> {
    let rest = provider_id.strip_prefix("aws://")?;
    let id = rest.rsplit('/').next()?;
    id.starts_with("i-").then(|| InstanceId::from(id))
}

#[cfg(test)]
mod tests {
    use super::{InstanceId, instance_of};

    #[test]
    fn a_node_s_instance_is_the_end_of_its_provider_id_where_ec2_is_the_provider() {
        let found = Some(InstanceId::from("i-0123"));
        assert_eq!(instance_of("aws:///eu-west-1a/i-0123"), found);
        assert_eq!(instance_of("aws://i-0123"), found);
        for other in [
            "",
            "gce://project/zone/i-0123",
            "aws:///eu-west-1a/fargate-ip-10-0-0-1",
            "kind://docker/kind/node",
        ] {
            assert_eq!(instance_of(other), None, "{other}");
        }
    }
}
