//! The ids of resources: a prefix and seventeen hexadecimal digits.

use std::fmt;
use std::str::FromStr;

/// The reasons why a text is not the id of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not of the form `prefix-` and 8 or 17 hexadecimal digits.
    #[error("malformed")]
    Malformed,
    /// Well formed, but the emulator never issues such a number, so no resource has this id.
    #[error("never issued")]
    NeverIssued,
}

fn digits(text: &str, prefix: &str) -> Result<u64, IdError> {
    let digits = text.strip_prefix(prefix).ok_or(IdError::Malformed)?;
    let hexadecimal = digits
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match digits.len() {
        17 if hexadecimal => u64::from_str_radix(digits, 16).map_err(|_| IdError::NeverIssued),
        // The short form of ids in accounts from before 2018.
        8 if hexadecimal => Err(IdError::NeverIssued),
        _ => Err(IdError::Malformed),
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{:017x}", $prefix, self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                digits(text, $prefix).map(Self)
            }
        }
    };
}

id!(
    /// `vpc-` and 17 hexadecimal digits.
    VpcId,
    "vpc-"
);
id!(
    /// `subnet-` and 17 hexadecimal digits.
    SubnetId,
    "subnet-"
);
id!(
    /// `i-` and 17 hexadecimal digits.
    InstanceId,
    "i-"
);
id!(
    /// `eni-` and 17 hexadecimal digits.
    NetworkInterfaceId,
    "eni-"
);
id!(
    /// `eni-attach-` and 17 hexadecimal digits.
    AttachmentId,
    "eni-attach-"
);

/// Anything that can carry tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceId {
    /// A VPC.
    Vpc(VpcId),
    /// A subnet.
    Subnet(SubnetId),
    /// An instance.
    Instance(InstanceId),
    /// A network interface.
    NetworkInterface(NetworkInterfaceId),
}

impl FromStr for ResourceId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text.split_once('-') {
            Some(("vpc", _)) => text.parse().map(Self::Vpc),
            Some(("subnet", _)) => text.parse().map(Self::Subnet),
            Some(("i", _)) => text.parse().map(Self::Instance),
            Some(("eni", _)) => text.parse().map(Self::NetworkInterface),
            _ => Err(IdError::Malformed),
        }
    }
}
