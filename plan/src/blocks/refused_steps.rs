//! A write of a block that the API server refuses: how it is reported.
//! Rule: R5.35.

use alloc::format;
use alloc::string::String;

use crate::decide::refused_write;
use crate::facts::Facts;
use crate::names::BlockName;
use crate::objects::Block;
use crate::step::BlockStep;

impl Facts {
    /// The message about the first of these steps that the API server refuses. One is enough: a policy refuses the same
    /// for many nodes.
    pub(super) fn refused_step<'a>(
        &self,
        block: &Block,
        steps: impl IntoIterator<Item = &'a BlockStep>,
    ) -> Option<String> {
        let failures = self.block_failures.get(&block.name)?;
        let mut steps = steps.into_iter();
        steps.find_map(|step| {
            Some(refused_write(
                &attempt(&block.name, step)?,
                failures.refusal(step)?,
            ))
        })
    }
}

/// What a write of a block was to do. None: the step is no write.
fn attempt(block: &BlockName, step: &BlockStep) -> Option<String> {
    Some(match step {
        BlockStep::AddFinalizer { .. } => format!("add the finalizer to IPBlock {block}"),
        BlockStep::RemoveFinalizer { .. } => {
            format!("remove the finalizer from IPBlock {block}")
        }
        BlockStep::Status { .. } => format!("write the status of IPBlock {block}"),
        BlockStep::Label {
            node,
            present: true,
        } => format!("add the label of IPBlock {block} to node {node}"),
        BlockStep::Label { node, .. } => {
            format!("remove the label of IPBlock {block} from node {node}")
        }
        BlockStep::DropReleaseBrake { .. } => {
            format!("remove the annotation ip.wgtwo.com/release-brake from IPBlock {block}")
        }
        BlockStep::Release(reservation) => {
            let address = reservation.address;
            format!("delete IPAddress {address}, which belongs to no IP")
        }
        BlockStep::ReadSubnet(_) | BlockStep::ReadLimits(_) | BlockStep::ReadIp(_) => return None,
    })
}
