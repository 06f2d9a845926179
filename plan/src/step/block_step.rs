//! What is to be done for a block.

use alloc::collections::BTreeSet;

use crate::names::{BlockName, InstanceType, IpName, NodeName, ResourceVersion, SubnetId};
use crate::objects::{BlockStatus, Reservation};
use crate::outcome::Action;

/// What is to be done for a block, beside the IPs' own steps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockStep {
    /// `DescribeSubnets`.
    ReadSubnet(SubnetId),
    /// `DescribeInstanceTypes`.
    ReadLimits(BTreeSet<InstanceType>),
    /// Put our finalizer on the block.
    AddFinalizer {
        /// The block.
        block: BlockName,
        /// Its version.
        version: ResourceVersion,
    },
    /// Take it off: nothing lies in it any more.
    RemoveFinalizer {
        /// The block.
        block: BlockName,
        /// Its version.
        version: ResourceVersion,
    },
    /// Replace the status.
    Status {
        /// The block.
        block: BlockName,
        /// Its version.
        version: ResourceVersion,
        /// The status as it is to be.
        status: BlockStatus,
    },
    /// Put the block's label on a Node, or take it off.
    Label {
        /// The Node.
        node: NodeName,
        /// The block that the label names.
        block: BlockName,
        /// Is it put on the Node, or taken off?
        present: bool,
    },
    /// Remove the annotation `release-brake`, used.
    DropReleaseBrake {
        /// The block.
        block: BlockName,
        /// Its version.
        version: ResourceVersion,
    },
    /// GET of the IP that a reservation was made for.
    ReadIp(IpName),
    /// Delete a reservation whose IP is gone, and take its finalizer off.
    Release(Reservation),
}

impl BlockStep {
    /// EC2's action, for those that call EC2.
    #[must_use]
    pub const fn action(&self) -> Option<Action> {
        match self {
            Self::ReadSubnet(_) => Some(Action::DescribeSubnets),
            Self::ReadLimits(_) => Some(Action::DescribeInstanceTypes),
            _ => None,
        }
    }
}
