//! A call that changes EC2, and what goes in one request.

use crate::address::Address;
use crate::cloud::Reassign;
use crate::names::InterfaceId;
use crate::outcome::Action;

/// A mutating call to EC2.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// `AssignPrivateIpAddresses`.
    Assign {
        /// The network interface that gets the address.
        interface: InterfaceId,
        /// The address.
        address: Address,
        /// May it take the address from another interface?
        reassign: Reassign,
    },
    /// `UnassignPrivateIpAddresses`.
    Unassign {
        /// The network interface that has the address.
        interface: InterfaceId,
        /// The address.
        address: Address,
    },
}

/// What calls have in common that go in one request: all of its addresses are attached or detached, or none
/// (EC2 API reference, `AssignPrivateIpAddresses`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallGroup {
    /// `AssignPrivateIpAddresses`.
    Assign(InterfaceId, Reassign),
    /// `UnassignPrivateIpAddresses`.
    Unassign(InterfaceId),
}

impl CallGroup {
    /// The interface that they go to.
    #[must_use]
    pub const fn interface(&self) -> &InterfaceId {
        match self {
            Self::Assign(interface, _) | Self::Unassign(interface) => interface,
        }
    }

    /// EC2's action.
    #[must_use]
    pub const fn action(&self) -> Action {
        match self {
            Self::Assign(..) => Action::Assign,
            Self::Unassign(_) => Action::Unassign,
        }
    }

    /// The call for one address.
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
    /// What it has in common with the calls that it can go with.
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

    /// The interface it goes to.
    #[must_use]
    pub fn interface(&self) -> &InterfaceId {
        match self {
            Self::Assign { interface, .. } | Self::Unassign { interface, .. } => interface,
        }
    }

    /// EC2's action, which is also the permission that it needs.
    #[must_use]
    pub const fn action(&self) -> Action {
        match self {
            Self::Assign { .. } => Action::Assign,
            Self::Unassign { .. } => Action::Unassign,
        }
    }

    /// The address it is about.
    #[must_use]
    pub fn address(&self) -> Address {
        match self {
            Self::Assign { address, .. } | Self::Unassign { address, .. } => *address,
        }
    }
}
