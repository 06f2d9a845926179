//! The mutations of a pod that asks for an address.
//! Rules: R8.14, R8.15.

use json_patch::jsonptr::{PointerBuf, Token};
use json_patch::{AddOperation, PatchOperation, ReplaceOperation};
use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm, Pod, Toleration};
use mooring_plan::admission::tolerations;
use serde_json::{Value, json};

use super::nodes::{is_empty, node_labels, terms};
use super::resolve::Resolved;
use super::{annotation, has_gate, label};
use crate::admission::PluginSettings;
use crate::api::{IpBlock, names};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// One addition that a pod needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// What it adds, as text for a message.
    pub what: &'static str,
    /// Whether the pod cannot get the address without it.
    pub essential: bool,
    /// The JSON patch operations.
    pub patch: Vec<PatchOperation>,
}

fn add<'a>(path: impl IntoIterator<Item: Into<Token<'a>>>, value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation {
        path: PointerBuf::from_tokens(path),
        value,
    })
}

/// All mutations that the pod needs. Empty for a pod that has them already.
pub fn mutations(pod: &Pod, resolved: &Resolved<'_>, settings: PluginSettings) -> Vec<Mutation> {
    let uid = resolved.ip.uid.as_str();
    let essential = [
        ("label ip.wgtwo.com/ip", ip_label(pod, resolved.ip_name())),
        ("annotation ip.wgtwo.com/ip-uid", ip_uid(pod, uid)),
        ("readiness gate ip.wgtwo.com/attached", readiness_gate(pod)),
        ("node affinity", affinity(pod, resolved.block)),
    ];
    let essential = essential.map(|(what, patch)| Mutation {
        what,
        essential: true,
        patch,
    });
    let patch = failover(pod, resolved.block, settings);
    let tolerations = Mutation {
        what: "tolerations",
        essential: false,
        patch,
    };
    essential
        .into_iter()
        .chain([tolerations])
        .filter(|mutation| !mutation.patch.is_empty())
        .collect()
}

fn ip_label(pod: &Pod, name: &str) -> Vec<PatchOperation> {
    if label(pod, names::IP_LABEL) == Some(name) {
        return Vec::new();
    }
    // An `add` below a parent that does not exist fails.
    vec![match pod.metadata.labels {
        Some(_) => add(["metadata", "labels", names::IP_LABEL], json!(name)),
        None => add(["metadata", "labels"], json!({ names::IP_LABEL: name })),
    }]
}

fn ip_uid(pod: &Pod, uid: &str) -> Vec<PatchOperation> {
    if annotation(pod, names::IP_UID_ANNOTATION) == Some(uid) {
        return Vec::new();
    }
    // `metadata.annotations` exists, because it contains the annotation that asks for the IP.
    vec![add(
        ["metadata", "annotations", names::IP_UID_ANNOTATION],
        json!(uid),
    )]
}

fn readiness_gate(pod: &Pod) -> Vec<PatchOperation> {
    if has_gate(pod) {
        return Vec::new();
    }
    let gate = json!({ "conditionType": names::ATTACHED_GATE });
    let spec = pod.spec.as_ref();
    vec![if spec.is_some_and(|spec| spec.readiness_gates.is_some()) {
        add(["spec", "readinessGates", "-"], gate)
    } else {
        add(["spec", "readinessGates"], json!([gate]))
    }]
}

/// The label requirements for the nodes of the block.
fn requirements(block: &IpBlock) -> Vec<NodeSelectorRequirement> {
    let given = block.node_labels().is_some();
    let of = |(key, value)| NodeSelectorRequirement {
        key,
        operator: if given { "In" } else { "Exists" }.to_owned(),
        values: given.then(|| vec![value]),
    };
    node_labels(block).into_iter().map(of).collect()
}

fn affinity(pod: &Pod, block: &IpBlock) -> Vec<PatchOperation> {
    let wanted = requirements(block);
    let selector = json!({ "nodeSelectorTerms": [{ "matchExpressions": wanted }] });
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref());
    let Some(affinity) = affinity else {
        return vec![add(
            ["spec", "affinity"],
            json!({ "nodeAffinity": { REQUIRED: selector } }),
        )];
    };
    let Some(node) = &affinity.node_affinity else {
        return vec![add(
            ["spec", "affinity", "nodeAffinity"],
            json!({ REQUIRED: selector }),
        )];
    };
    if node
        .required_during_scheduling_ignored_during_execution
        .is_none()
    {
        return vec![add(
            ["spec", "affinity", "nodeAffinity", REQUIRED],
            selector,
        )];
    }
    // An empty term matches no node. With a requirement it would match some nodes.
    let terms = terms(pod)
        .iter()
        .enumerate()
        .filter(|(_, term)| !is_empty(term));
    terms
        .flat_map(|(index, term)| in_term(index, term, &wanted))
        .collect()
}

fn in_term(
    index: usize,
    term: &NodeSelectorTerm,
    wanted: &[NodeSelectorRequirement],
) -> Vec<PatchOperation> {
    let index = index.to_string();
    let path = [
        "spec",
        "affinity",
        "nodeAffinity",
        REQUIRED,
        "nodeSelectorTerms",
        &index,
        "matchExpressions",
    ];
    let Some(present) = &term.match_expressions else {
        return vec![add(path, json!(wanted))];
    };
    let missing = wanted
        .iter()
        .filter(|requirement| !present.contains(requirement));
    missing
        .map(|requirement| add(path.into_iter().chain(["-"]), json!(requirement)))
        .collect()
}

/// Tolerations for `failoverAfter`. By default Kubernetes keeps a pod on a failed node for five minutes.
fn failover(pod: &Pod, block: &IpBlock, settings: PluginSettings) -> Vec<PatchOperation> {
    let Ok(after) = block.spec.failover_after() else {
        return Vec::new();
    };
    let seconds = after.as_secs();
    let tolerations = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.tolerations.as_deref())
        .unwrap_or_default();
    let plugins = |toleration: &Toleration| {
        let toleration = tolerations::Toleration {
            key: toleration.key.as_deref(),
            operator: toleration.operator.as_deref(),
            value: toleration.value.as_deref(),
            effect: toleration.effect.as_deref(),
            seconds: toleration.toleration_seconds,
        };
        toleration.is_the_plugins(settings.default_tolerations)
            && toleration.seconds != i64::try_from(seconds).ok()
    };
    let found = tolerations
        .iter()
        .enumerate()
        .filter(|(_, toleration)| plugins(toleration));
    let shorten = |(index, _): (usize, _)| {
        let index = index.to_string();
        let path = PointerBuf::from_tokens(["spec", "tolerations", &index, "tolerationSeconds"]);
        PatchOperation::Replace(ReplaceOperation {
            path,
            value: json!(seconds),
        })
    };
    found.map(shorten).collect()
}
