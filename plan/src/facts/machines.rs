//! Which Node is believed to be an instance.
//!
//! A kubelet registers itself with whatever `providerID` it likes, and the cloud's controllers take its
//! addresses from that. So a Node of a machine that was taken over could draw to itself what belongs on another.

use super::Facts;
use crate::decide::Ineligible;
use crate::names::InstanceId;
use crate::objects::Node;

impl Facts {
    /// The instance that the Node is.
    ///
    /// # Errors
    /// It names none, or another Node that names it as well is believed: one whose kubelet is heard before one
    /// that is silent, then the older one.
    pub(crate) fn instance_of<'a>(&self, node: &'a Node) -> Result<&'a InstanceId, Ineligible> {
        let Some(instance) = &node.instance else {
            return Err(Ineligible::NoInstance(node.name.clone()));
        };
        let rivals = self.index.nodes_of(instance);
        let rivals = rivals.filter_map(|name| self.nodes.get(name));
        let believed = rivals
            .map(|seen| &seen.node)
            .min_by_key(|node| (node.unreachable, node.created, &node.name));
        match believed.filter(|believed| believed.name != node.name) {
            Some(other) => Err(Ineligible::InstanceOfAnother(
                node.name.clone(),
                other.name.clone(),
            )),
            None => Ok(instance),
        }
    }
}
