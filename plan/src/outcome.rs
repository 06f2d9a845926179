//! The actions of EC2 that Mooring uses, and the meaning of an answer that is not a plain success.
//! Rules: R5.2, R5.3, R5.10.

use core::fmt;

use crate::words::words;

/// The EC2 actions that Mooring calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// `AssignPrivateIpAddresses`.
    Assign,
    /// `UnassignPrivateIpAddresses`.
    Unassign,
    /// `DescribeNetworkInterfaces`, by subnet.
    DescribeInterfaces,
    /// `DescribeInstances`, by id.
    DescribeInstances,
    /// `DescribeInstanceStatus`, by id.
    DescribeInstanceStatus,
    /// `DescribeInstanceTypes`, by name.
    DescribeInstanceTypes,
    /// `DescribeSubnets`, by id.
    DescribeSubnets,
}

impl Action {
    /// Every action, in order.
    pub const ALL: [Self; 7] = [
        Self::Assign,
        Self::Unassign,
        Self::DescribeInterfaces,
        Self::DescribeInstances,
        Self::DescribeInstanceStatus,
        Self::DescribeInstanceTypes,
        Self::DescribeSubnets,
    ];

    /// The name in the EC2 API, which is also the name in an IAM policy after `ec2:`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Assign => "AssignPrivateIpAddresses",
            Self::Unassign => "UnassignPrivateIpAddresses",
            Self::DescribeInterfaces => "DescribeNetworkInterfaces",
            Self::DescribeInstances => "DescribeInstances",
            Self::DescribeInstanceStatus => "DescribeInstanceStatus",
            Self::DescribeInstanceTypes => "DescribeInstanceTypes",
            Self::DescribeSubnets => "DescribeSubnets",
        }
    }

    /// True if the call changes something in EC2.
    #[must_use]
    pub const fn mutates(self) -> bool {
        matches!(self, Self::Assign | Self::Unassign)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

words! {
    /// The meaning of an answer that is not a plain success.
    pub enum Outcome {
        /// The requested state exists already: the address of an Unassign is not on that ENI.
        Done,
        /// An address is on another ENI, and the call does not allow reassignment.
        AssignedElsewhere,
        /// An address is the primary address of an ENI: it can be neither moved nor unassigned.
        Primary,
        /// An address is outside of the subnet of the ENI.
        NotInSubnet,
        /// An address is among the first four or the last of its subnet.
        ReservedByAws,
        /// The ENI has as many addresses as its instance type allows.
        NoRoom,
        /// The ENI does not exist. EC2 is eventually consistent, so this alone does not prove that it is gone.
        InterfaceNotFound,
        /// The instance does not exist. This does not prove its termination.
        InstanceNotFound,
        /// The subnet does not exist.
        SubnetNotFound,
        /// The credentials do not permit the call.
        Denied,
        /// EC2 does not accept the credentials, or there are none.
        Unauthenticated,
        /// The token bucket of the account for this action is empty. Nothing was done.
        Throttled,
        /// The call may have been executed: read, then call again.
        Unknown,
        /// EC2 refused for another reason. Nothing was done.
        Invalid,
    }
}

impl Outcome {
    /// True if EC2 would refuse the same call for this ENI again, as long as the ENI does not change.
    #[must_use]
    pub const fn is_for_good(self) -> bool {
        matches!(
            self,
            Self::NoRoom | Self::InterfaceNotFound | Self::NotInSubnet
        )
    }

    /// True if the policy or the credentials have to change before such a call succeeds.
    #[must_use]
    pub const fn is_denial(self) -> bool {
        matches!(self, Self::Denied | Self::Unauthenticated)
    }

    /// True if EC2 did not answer, or accepted no credentials: the cause can be this process, its node or its zone.
    #[must_use]
    pub const fn is_silence(self) -> bool {
        matches!(self, Self::Unknown | Self::Unauthenticated)
    }

    /// True if the reason can be the account or EC2 as a whole: then other calls fail in the same way.
    #[must_use]
    pub const fn is_of_all(self) -> bool {
        self.is_denial() || matches!(self, Self::Throttled | Self::Unknown)
    }

    /// True if the reason can concern only one address. Then a refused request with several addresses proves nothing
    /// about each of them, except that nothing was done.
    #[must_use]
    pub const fn is_of_one_address(self) -> bool {
        !self.is_of_all() && !matches!(self, Self::InterfaceNotFound)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
