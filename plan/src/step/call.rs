//! Mutating calls to EC2, and which of them go in one request.

use crate::address::Address;
use crate::cloud::Reassign;
use crate::names::InterfaceId;
use crate::outcome::Action;

/// A mutating call to EC2.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// `AssignPrivateIpAddresses`.
    Assign {
        /// The ENI that gets the address.
        interface: InterfaceId,
        /// The address.
        address: Address,
        /// Whether the call may take the address from another ENI.
        reassign: Reassign,
    },
    /// `UnassignPrivateIpAddresses`.
    Unassign {
        /// The ENI that has the address.
        interface: InterfaceId,
        /// The address.
        address: Address,
    },
}

/// The common parameters of calls that go in one request. A request attaches or detaches all of its addresses or none
/// (EC2 API reference, `AssignPrivateIpAddresses`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallGroup {
    /// `AssignPrivateIpAddresses`.
    Assign(InterfaceId, Reassign),
    /// `UnassignPrivateIpAddresses`.
    Unassign(InterfaceId),
}

impl CallGroup {
    /// The ENI of the calls.
    #[must_use]
    pub const fn interface(&self) -> &InterfaceId {
        match self {
            Self::Assign(interface, _) | Self::Unassign(interface) => interface,
        }
    }

    /// The EC2 action of the calls.
    #[must_use]
    pub const fn action(&self) -> Action {
        match self {
            Self::Assign(..) => Action::Assign,
            Self::Unassign(_) => Action::Unassign,
        }
    }

    /// The call of this group for one address.
    #[must_use]
    pub fn call(&self, address: Address) -> Call {
        match self {
            Self::Assign(interface, reassign) => Call::Assign {
                interface: interface.clone(),
                address,
                reassign: *reassign,
            },
            Self::Unassign(interface) => Call::Unassign {
                interface: interface.clone(),
                address,
            },
        }
    }
}

impl Call {
    /// The group of calls with which this call can share a request.
    #[must_use]
    pub fn group(&self) -> CallGroup {
        match self {
            Self::Assign {
                interface,
                reassign,
                ..
            } => CallGroup::Assign(interface.clone(), *reassign),
            Self::Unassign { interface, .. } => CallGroup::Unassign(interface.clone()),
        }
    }

    /// The ENI of the call.
    #[must_use]
    pub fn interface(&self) -> &InterfaceId {
        match self {
            Self::Assign { interface, .. } | Self::Unassign { interface, .. } => interface,
        }
    }

    /// The EC2 action, which is also the IAM permission that the call needs.
    #[must_use]
    pub const fn action(&self) -> Action {
        match self {
            Self::Assign { .. } => Action::Assign,
            Self::Unassign { .. } => Action::Unassign,
        }
    }

    /// The address of the call.
    #[must_use]
    pub fn address(&self) -> Address {
        match self {
            Self::Assign { address, .. } | Self::Unassign { address, .. } => *address,
        }
    }
}
