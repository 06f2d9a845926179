//! The refusals of EC2.

use std::fmt;

/// The error codes of EC2 that the rules of the state machine use (EC2 API reference, Error codes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// An interface would exceed the limit of the instance type.
    AttachmentLimitExceeded,
    /// The instance is in a state that does not allow the call.
    IncorrectInstanceState,
    /// No free address is left in the subnet.
    InsufficientFreeAddressesInSubnet,
    /// No such attachment.
    AttachmentNotFound,
    /// A new interface asked for an address that is in use.
    AddressInUse,
    /// No such instance.
    InstanceNotFound,
    /// The interface is attached already.
    InterfaceInUse,
    /// No such network interface.
    InterfaceNotFound,
    /// Parameters that cannot be combined.
    InvalidParameterCombination,
    /// A value that EC2 understood and refuses.
    InvalidParameterValue,
    /// The subnet overlaps another of its VPC.
    SubnetConflict,
    /// No such subnet.
    SubnetNotFound,
    /// The subnet is not inside its VPC.
    SubnetRange,
    /// No such VPC.
    VpcNotFound,
    /// A VPC must be between /16 and /28.
    VpcRange,
    /// The operation is not allowed, for example a detach of the primary interface.
    OperationNotPermitted,
    /// The interface has no room.
    PrivateIpAddressLimitExceeded,
}

impl Code {
    /// The text in the answer.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AttachmentLimitExceeded => "AttachmentLimitExceeded",
            Self::IncorrectInstanceState => "IncorrectInstanceState",
            Self::InsufficientFreeAddressesInSubnet => "InsufficientFreeAddressesInSubnet",
            Self::AttachmentNotFound => "InvalidAttachmentID.NotFound",
            Self::AddressInUse => "InvalidIPAddress.InUse",
            Self::InstanceNotFound => "InvalidInstanceID.NotFound",
            Self::InterfaceInUse => "InvalidNetworkInterface.InUse",
            Self::InterfaceNotFound => "InvalidNetworkInterfaceID.NotFound",
            Self::InvalidParameterCombination => "InvalidParameterCombination",
            Self::InvalidParameterValue => "InvalidParameterValue",
            Self::SubnetConflict => "InvalidSubnet.Conflict",
            Self::SubnetNotFound => "InvalidSubnetID.NotFound",
            Self::SubnetRange => "InvalidSubnet.Range",
            Self::VpcNotFound => "InvalidVpcID.NotFound",
            Self::VpcRange => "InvalidVpc.Range",
            Self::OperationNotPermitted => "OperationNotPermitted",
            Self::PrivateIpAddressLimitExceeded => "PrivateIpAddressLimitExceeded",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal: nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Ec2Error {
    /// The error code, for programs.
    pub code: Code,
    /// The message, for people. Some conditions have the same code and differ only in the message.
    pub message: String,
}

impl Ec2Error {
    /// A refusal with this code and message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}
