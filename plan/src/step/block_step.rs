//! The steps of a block.

use alloc::collections::BTreeSet;

use crate::names::{InstanceType, IpName, NodeName, ResourceVersion, SubnetId};
use crate::objects::{BlockStatus, Reservation};
use crate::outcome::Action;

/// A step of a block, apart from the steps of its IPs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockStep {
    /// `DescribeSubnets`.
    ReadSubnet(SubnetId),
    /// `DescribeInstanceTypes`.
    ReadLimits(BTreeSet<InstanceType>),
    /// Add our finalizer to the block.
    AddFinalizer {
        /// The `resourceVersion` of the block that guards the write.
        version: ResourceVersion,
    },
    /// Remove our finalizer: no address of the block is reserved by an IP any more.
    RemoveFinalizer {
        /// The `resourceVersion` of the block that guards the write.
        version: ResourceVersion,
    },
    /// Replace the status.
    Status {
        /// The `resourceVersion` of the block that guards the write.
        version: ResourceVersion,
        /// The new status.
        status: BlockStatus,
    },
    /// Add the label of the block to a Node, or remove it.
    Label {
        /// The Node.
        node: NodeName,
        /// True: the label is added; false: it is removed.
        present: bool,
    },
    /// Remove the annotation `release-brake` after it was used.
    DropReleaseBrake {
        /// The `resourceVersion` of the block that guards the write.
        version: ResourceVersion,
    },
    /// GET of the IP that a reservation was created for.
    ReadIp(IpName),
    /// Delete a reservation whose IP is gone, and remove its finalizer.
    Release(Reservation),
}

impl BlockStep {
    /// The same write, whatever version it is decided from. Of the status only one write fails at a time, so every
    /// write of it counts as the same.
    pub(crate) fn without_versions(mut self) -> Self {
        match &mut self {
            Self::AddFinalizer { version, .. }
            | Self::RemoveFinalizer { version, .. }
            | Self::DropReleaseBrake { version, .. } => *version = ResourceVersion(0),
            Self::Status {
                version, status, ..
            } => (*version, *status) = (ResourceVersion(0), BlockStatus::default()),
            Self::Release(reservation) => reservation.version = ResourceVersion(0),
            Self::ReadSubnet(_) | Self::ReadLimits(_) | Self::ReadIp(_) | Self::Label { .. } => {}
        }
        self
    }

    /// The EC2 action of the step; None if the step does not call EC2.
    #[must_use]
    pub const fn action(&self) -> Option<Action> {
        match self {
            Self::ReadSubnet(_) => Some(Action::DescribeSubnets),
            Self::ReadLimits(_) => Some(Action::DescribeInstanceTypes),
            _ => None,
        }
    }
}
