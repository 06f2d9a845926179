//! Checks whether a pod that asks for an address may be created.
//! Rules: R3.27, R8.24.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm, Pod};
use mooring_plan::admission::placement::{
    Compare, ExcludedLabel, Requirement, Term, excluded_label,
};
use mooring_plan::admission::{Denial, DenyReason};

use super::nodes::{is_empty, node_labels, terms};
use super::resolve::{Resolved, resolve};
use super::{Called, annotation, bound_to};
use crate::admission::{BoundNode, Snapshot};
use crate::api::names;

/// Annotation of the mirror pod of a static pod (Kubernetes API, well-known annotations).
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Finds the IP that the pod asks for. Refuses a pod that cannot have it.
pub fn assess<'a>(
    asked: &str,
    pod: &Pod,
    namespace: &str,
    snapshot: &'a Snapshot,
) -> Result<Resolved<'a>, Denial> {
    let called = Called { pod, namespace };
    refuse_without_spec(pod, &called)?;
    refuse_per_node(pod, &called)?;
    refuse_unknown_handover(pod, &called)?;
    let resolved = resolve(asked, namespace, snapshot)?;
    refuse_excluded_label(pod, &called, &resolved)?;
    refuse_foreign_node(pod, &called, &resolved, snapshot)?;
    Ok(resolved)
}

/// Refuses a pod without a spec: its patch would fail without a message.
fn refuse_without_spec(pod: &Pod, called: &Called<'_>) -> Result<(), Denial> {
    match pod.spec {
        Some(_) => Ok(()),
        None => Err(Denial::new(
            DenyReason::Invalid,
            format!("pod {called} has no spec"),
            "give it one, with the containers that are to have the address",
        )),
    }
}

/// Refuses mirror pods of static pods and pods of a `DaemonSet`: one pod on each node cannot share one address.
fn refuse_per_node(pod: &Pod, called: &Called<'_>) -> Result<(), Denial> {
    let owners = pod.metadata.owner_references.as_deref().unwrap_or_default();
    let owned_by = |kind: &str, group: &str| {
        let mut owners = owners.iter().filter(|owner| owner.controller == Some(true));
        owners.any(|owner| owner.kind == kind && owner.api_version.starts_with(group))
    };
    let what = if annotation(pod, MIRROR).is_some() || owned_by("Node", "v1") {
        "mirrors a static pod of a node, which cannot follow an address"
    } else if owned_by("DaemonSet", "apps/") {
        "belongs to a DaemonSet, which has a pod on every node, but an address can be on one node only"
    } else {
        return Ok(());
    };
    Err(Denial::new(
        DenyReason::Forbidden,
        format!("pod {called} {what}"),
        "use a Deployment or a StatefulSet with one replica, or remove annotation ip.wgtwo.com/ip",
    ))
}

fn refuse_unknown_handover(pod: &Pod, called: &Called<'_>) -> Result<(), Denial> {
    let given = annotation(pod, names::HANDOVER_ANNOTATION);
    match given {
        None | Some(names::HANDOVER_CONTAINERS_READY | names::HANDOVER_RUNNING) => Ok(()),
        Some(other) => Err(Denial::new(
            DenyReason::Invalid,
            format!("annotation ip.wgtwo.com/handover of pod {called} is \"{other}\""),
            format!(
                "write \"{}\" or \"{}\"",
                names::HANDOVER_CONTAINERS_READY,
                names::HANDOVER_RUNNING
            ),
        )),
    }
}

fn refuse_excluded_label(
    pod: &Pod,
    called: &Called<'_>,
    resolved: &Resolved<'_>,
) -> Result<(), Denial> {
    let Some(spec) = &pod.spec else { return Ok(()) };
    let selector = spec.node_selector.clone().unwrap_or_default();
    let terms: Vec<Term> = terms(pod)
        .iter()
        .filter(|term| !is_empty(term))
        .map(term)
        .collect();
    let found = excluded_label(&node_labels(resolved.block), &selector, &terms);
    let Some(ExcludedLabel { key, value }) = found else {
        return Ok(());
    };
    Err(Denial::from_others(
        DenyReason::Forbidden,
        format!(
            "pod {called} may not run on nodes labelled {key}={value}, and those are the nodes of IPBlock \"{}\", \
             which contains IP \"{}\"",
            resolved.block_name(),
            resolved.ip_name()
        ),
        format!(
            "remove label {key} from the pod's nodeSelector and node affinity, or name an IP of another block"
        ),
    ))
}

fn term(term: &NodeSelectorTerm) -> Term {
    term.match_expressions
        .iter()
        .flatten()
        .map(requirement)
        .collect()
}

fn requirement(given: &NodeSelectorRequirement) -> Requirement {
    let values: BTreeSet<String> = given.values.iter().flatten().cloned().collect();
    let compare = match given.operator.as_str() {
        "In" => Compare::In(values),
        "NotIn" => Compare::NotIn(values),
        "Exists" => Compare::Exists,
        "DoesNotExist" => Compare::DoesNotExist,
        _ => Compare::Other,
    };
    Requirement {
        key: given.key.clone(),
        compare,
    }
}

/// Refuses a pod that is already bound to a node without the labels of the block. Before the first status of the
/// block no node can have its label, so the pod is admitted and the controller decides.
fn refuse_foreign_node(
    pod: &Pod,
    called: &Called<'_>,
    resolved: &Resolved<'_>,
    snapshot: &Snapshot,
) -> Result<(), Denial> {
    let Some(node) = bound_to(pod) else {
        return Ok(());
    };
    let what = match snapshot.node() {
        _ if resolved.block.subnet_cidrs().is_empty() => return Ok(()),
        BoundNode::Unknown => return Ok(()),
        BoundNode::Absent => "which does not exist".to_owned(),
        BoundNode::Labelled(labels) => {
            let wanted = node_labels(resolved.block);
            let Some((key, value)) = wanted
                .iter()
                .find(|(key, value)| labels.get(*key) != Some(*value))
            else {
                return Ok(());
            };
            format!(
                "which has no label {key}={value} and so is not a node of IPBlock \"{}\"",
                resolved.block_name()
            )
        }
    };
    Err(Denial::from_others(
        DenyReason::Forbidden,
        format!("pod {called} is bound to node \"{node}\", {what}"),
        "leave spec.nodeName out: the pod is scheduled to a node that can carry the address",
    ))
}
