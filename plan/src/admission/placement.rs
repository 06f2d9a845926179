//! Where a pod may run, and whether that can be a node that carries its address.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// How a requirement compares a node's label (Kubernetes API, `NodeSelectorRequirement`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compare {
    /// The value is one of these.
    In(BTreeSet<String>),
    /// The value is none of these, or the label is absent.
    NotIn(BTreeSet<String>),
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// Any other comparison: it is not looked into.
    Other,
}

/// One requirement of a pod's node affinity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// How it is compared.
    pub compare: Compare,
}

/// One `nodeSelectorTerm`: a node fits when it meets all of them. An empty term fits no node.
pub type Term = Vec<Requirement>;

/// The labels that a node of a block has. The controller's own label has the empty value.
pub type NodeLabels = BTreeMap<String, String>;

/// A label that the pod rules out although its nodes have it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExcludedLabel {
    /// The label's key.
    pub key: String,
    /// The value that a node of the block has.
    pub value: String,
}

impl Requirement {
    /// Whether no node with this label meets it.
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

/// Whether a pod with this `nodeSelector` and these terms of node affinity (all that are not empty)
/// can run on no node with these labels. One term that fits is enough: they are alternatives.
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
