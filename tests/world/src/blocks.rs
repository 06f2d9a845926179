//! Carries out the steps of blocks.

use mooring_plan::facts::Fact;
use mooring_plan::names::BlockName;
use mooring_plan::step::BlockStep;

use crate::kube::Kube;

impl Kube {
    /// Carries out a step of a block, if it writes a status or a label. Returns the facts that a watch shows
    /// afterwards.
    pub fn block_step(&mut self, name: &BlockName, step: &BlockStep) -> Option<Fact> {
        match step {
            BlockStep::Status { status, .. } => {
                let version = self.bump();
                let block = self.blocks.get_mut(name).unwrap();
                (block.status, block.version) = (status.clone(), version);
                Some(Fact::Block(block.clone()))
            }
            BlockStep::Label { node, present } => {
                let version = self.bump();
                let node = self.nodes.get_mut(node).unwrap();
                node.version = version;
                if *present {
                    node.labels.insert(name.node_label(), String::new());
                } else {
                    node.labels.remove(&name.node_label());
                }
                Some(Fact::Node(node.clone()))
            }
            _ => None,
        }
    }
}
