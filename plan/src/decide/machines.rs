//! Which Node is accepted as an instance.
//! Rules: R3.2 to R3.4.
//!
//! A kubelet registers itself with whatever `providerID` it likes, and the cloud's controllers take its
//! addresses from that. So without this rule a compromised node could attract
//! the pods and addresses of another machine.

use super::{Ineligible, usable_interface};
use crate::cloud::Interface;
use crate::facts::{Facts, SubnetFacts};
use crate::names::InstanceId;
use crate::objects::{BlockSpec, Node};

impl Facts {
    /// The interface on which a Node carries a block's addresses, and whether the VPC CNI may manage it too.
    pub(crate) fn carrier<'a>(
        &self,
        spec: &BlockSpec,
        subnet: &'a SubnetFacts,
        node: &Node,
    ) -> Option<(&'a Interface, bool)> {
        usable_interface(spec, subnet, self.instance_of(node).ok()?)
    }

    /// The instance that the Node is.
    ///
    /// # Errors
    /// It names none, or another Node that names it as well is accepted: one whose kubelet reports before one
    /// that is silent, then the older one.
    pub(crate) fn instance_of<'a>(&self, node: &'a Node) -> Result<&'a InstanceId, Ineligible> {
        let Some(instance) = &node.instance else {
            return Err(Ineligible::NoInstance(node.name.clone()));
        };
        let rivals = self.index.nodes_of(instance);
        let rivals = rivals.filter_map(|name| self.nodes.get(name));
        let accepted = rivals
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
