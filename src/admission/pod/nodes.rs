//! The nodes that can carry the addresses of a block, and the nodes that a pod selects itself.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelectorTerm, Pod};
use mooring_plan::admission::placement::NodeLabels;
use mooring_plan::names::BlockName;

use crate::api::IpBlock;

/// The labels that a node of the block has.
pub fn node_labels(block: &IpBlock) -> NodeLabels {
    block.node_labels().cloned().unwrap_or_else(|| {
        let name = BlockName::from(block.metadata.name.as_deref().unwrap_or_default());
        BTreeMap::from([(name.node_label(), String::new())])
    })
}

/// The terms of the pod's required node affinity.
pub fn terms(pod: &Pod) -> &[NodeSelectorTerm] {
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref());
    let required = affinity
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|node| {
            node.required_during_scheduling_ignored_during_execution
                .as_ref()
        });
    required.map_or(&[], |selector| selector.node_selector_terms.as_slice())
}

/// Whether the term is empty and so matches no node (Kubernetes API, `NodeSelectorTerm`).
pub fn is_empty(term: &NodeSelectorTerm) -> bool {
    term.match_expressions.as_ref().is_none_or(Vec::is_empty)
        && term.match_fields.as_ref().is_none_or(Vec::is_empty)
}
