//! The calls to EC2, and what became of one that did not plainly succeed.
//! Rules: R5.2, R5.3, R5.10.

use core::fmt;

/// The calls that Mooring makes.
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

    /// The name in EC2's API, which is also the name in an IAM policy, after `ec2:`.
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

    /// Whether the call changes anything in EC2.
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

/// What became of a call that did not plainly succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// What was asked for is so already: an address to take off is not on that ENI.
    Done,
    /// An address is on another ENI, and reassignment was not allowed.
    AssignedElsewhere,
    /// An address is the primary one of an ENI: it can be neither moved nor taken off.
    Primary,
    /// An address lies outside the ENI's subnet.
    NotInSubnet,
    /// An address is among the first four or the last of its subnet.
    ReservedByAws,
    /// The ENI has as many addresses as its instance type allows.
    NoRoom,
    /// There is no such ENI. Describe is eventually consistent: by itself no proof that it is gone.
    InterfaceNotFound,
    /// There is no such instance; no proof of its termination either.
    InstanceNotFound,
    /// There is no such subnet.
    SubnetNotFound,
    /// The credentials may not do this, or there are none.
    Denied,
    /// The account's bucket for this action is empty. Nothing was done.
    Throttled,
    /// The call may have been executed: read, then call again.
    Unknown,
    /// EC2 refused for a reason that has no name here. Nothing was done.
    Invalid,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 13] = [
        Self::Done,
        Self::AssignedElsewhere,
        Self::Primary,
        Self::NotInSubnet,
        Self::ReservedByAws,
        Self::NoRoom,
        Self::InterfaceNotFound,
        Self::InstanceNotFound,
        Self::SubnetNotFound,
        Self::Denied,
        Self::Throttled,
        Self::Unknown,
        Self::Invalid,
    ];

    /// Will this interface refuse the same call again, as long as it is what it is?
    #[must_use]
    pub const fn is_for_good(self) -> bool {
        matches!(
            self,
            Self::NoRoom | Self::InterfaceNotFound | Self::NotInSubnet
        )
    }

    /// Is it of the account, or of EC2 as a whole, as far as one call can tell? Others then fail alike.
    #[must_use]
    pub const fn is_of_all(self) -> bool {
        matches!(self, Self::Denied | Self::Throttled | Self::Unknown)
    }

    /// Can it be of one address only, so that a request with others says nothing of them but that nothing was done?
    #[must_use]
    pub const fn is_of_one_address(self) -> bool {
        !self.is_of_all() && !matches!(self, Self::InterfaceNotFound)
    }

    /// The outcome in one word, for reasons and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "Done",
            Self::AssignedElsewhere => "AssignedElsewhere",
            Self::Primary => "Primary",
            Self::NotInSubnet => "NotInSubnet",
            Self::ReservedByAws => "ReservedByAws",
            Self::NoRoom => "NoRoom",
            Self::InterfaceNotFound => "InterfaceNotFound",
            Self::InstanceNotFound => "InstanceNotFound",
            Self::SubnetNotFound => "SubnetNotFound",
            Self::Denied => "Denied",
            Self::Throttled => "Throttled",
            Self::Unknown => "Unknown",
            Self::Invalid => "Invalid",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
