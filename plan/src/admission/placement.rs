//! Checks whether the scheduling rules of a pod allow a node that can carry its address.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// The operator of a requirement on a node label (Kubernetes API, `NodeSelectorRequirement`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compare {
    /// The value is one of these.
    In(BTreeSet<String>),
    /// The value is none of these, or the label is absent.
    NotIn(BTreeSet<String>),
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// Any other operator: it is not evaluated.
    Other,
}

/// One requirement of the node affinity of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    /// The key of the label.
    pub key: String,
    /// The operator, with its values.
    pub compare: Compare,
}

/// One `nodeSelectorTerm`: a node matches if it meets all requirements. An empty term matches no node.
pub type Term = Vec<Requirement>;

/// The labels of the nodes of a block. The label that the controller sets has an empty value.
pub type NodeLabels = BTreeMap<String, String>;

/// A label that the nodes of the block have and that the pod excludes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExcludedLabel {
    /// The key of the label.
    pub key: String,
    /// The value of the label on the nodes of the block.
    pub value: String,
}

impl Requirement {
    /// True if no node with this label meets the requirement.
    fn excludes(&self, key: &str, value: &str) -> bool {
        self.key == key
            && match &self.compare {
                Compare::In(values) => !values.contains(value),
                Compare::NotIn(values) => values.contains(value),
                Compare::DoesNotExist => true,
                Compare::Exists | Compare::Other => false,
            }
    }
}

/// Returns a label that excludes a pod with this `nodeSelector` and these non-empty terms of node affinity from all
/// nodes of the block. Terms are alternatives: if one of them matches, the pod is not excluded.
#[must_use]
pub fn excluded_label(
    labels: &NodeLabels,
    selector: &BTreeMap<String, String>,
    terms: &[Term],
) -> Option<ExcludedLabel> {
    let found = |(key, value): (&String, &String)| ExcludedLabel {
        key: key.clone(),
        value: value.clone(),
    };
    let selected = labels
        .iter()
        .find(|(key, value)| selector.get(*key).is_some_and(|given| given != *value));
    if let Some(label) = selected {
        return Some(found(label));
    }
    let mut first = None;
    for term in terms {
        let against = labels
            .iter()
            .find(|(key, value)| term.iter().any(|rule| rule.excludes(key, value)));
        first = first.or(Some(found(against?)));
    }
    first
}
