//! Decides which Node is accepted for an instance.
//! Rules: R3.2 to R3.4.
//!
//! A kubelet can register with any `providerID`, and the cloud controllers derive the addresses of the Node from it.
//! Without this rule, a compromised node could get the pods and addresses of another machine.

use super::{Ineligible, usable_interface};
use crate::cloud::Interface;
use crate::facts::{Facts, SubnetFacts};
use crate::names::InstanceId;
use crate::objects::{BlockSpec, Node};

impl Facts {
    /// The ENI on which a Node carries addresses of a block, and whether the VPC CNI may manage it too.
    pub(crate) fn carrier<'a>(
        &self,
        spec: &BlockSpec,
        subnet: &'a SubnetFacts,
        node: &Node,
    ) -> Option<(&'a Interface, bool)> {
        usable_interface(spec, subnet, self.instance_of(node).ok()?)
    }

    /// The instance for which the Node is accepted.
    ///
    /// # Errors
    /// The Node names no instance, or another Node with the same instance is accepted: a Node whose kubelet is
    /// reachable comes first, then the older one.
    pub(crate) fn instance_of<'a>(&self, node: &'a Node) -> Result<&'a InstanceId, Ineligible> {
        let Some(instance) = &node.instance else {
            return Err(Ineligible::NoInstance(node.name.clone()));
        };
        let competitors = self.index.nodes_of(instance);
        let competitors = competitors.filter_map(|name| self.nodes.get(name));
        let accepted = competitors
            .map(|seen| &seen.node)
            .min_by_key(|node| (node.unreachable, node.created, &node.name));
        match accepted.filter(|accepted| accepted.name != node.name) {
            Some(other) => Err(Ineligible::InstanceOfAnother(
                node.name.clone(),
                other.name.clone(),
            )),
            None => Ok(instance),
        }
    }
}
