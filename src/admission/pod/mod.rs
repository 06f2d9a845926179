//! The rules for pods that ask for an address: what admission adds, and what must not be removed again.

mod assess;
mod mutations;
mod nodes;
mod partial_pod;
mod resolve;
mod rule;

pub use partial_pod::PartialPod;
pub use rule::{mutate_pod, validate_pod};

use k8s_openapi::api::core::v1::Pod;
use std::fmt;

use crate::api::names;

/// A pod's name in a message. A pod that is made from a template has no name yet.
struct Called<'a> {
    pod: &'a Pod,
    namespace: &'a str,
}

impl fmt::Display for Called<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metadata = &self.pod.metadata;
        match (&metadata.name, &metadata.generate_name) {
            (Some(name), _) => write!(f, "{}/{name}", self.namespace),
            (None, Some(prefix)) => write!(f, "{}/{prefix}*", self.namespace),
            (None, None) => write!(f, "{}/*", self.namespace),
        }
    }
}

fn annotation<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.metadata
        .annotations
        .as_ref()?
        .get(key)
        .map(String::as_str)
}

fn label<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

fn has_gate(pod: &Pod) -> bool {
    let gates = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.readiness_gates.as_ref());
    let mut gates = gates.into_iter().flatten();
    gates.any(|gate| gate.condition_type == names::ATTACHED_GATE)
}

/// The name or address of the `IP` that the pod asks for.
#[must_use]
pub fn asks_for(pod: &Pod) -> Option<&str> {
    annotation(pod, names::IP_ANNOTATION)
}

/// The UID of the `IP` that admission wrote into the pod.
#[must_use]
pub fn given_uid(pod: &Pod) -> Option<&str> {
    annotation(pod, names::IP_UID_ANNOTATION)
}

/// The Node that the pod was bound to when it was created.
#[must_use]
pub fn bound_to(pod: &Pod) -> Option<&str> {
    let node = pod.spec.as_ref()?.node_name.as_deref()?;
    (!node.is_empty()).then_some(node)
}
