//! The supported calls.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! actions {
    ($($name:ident $kind:ident;)*) => {
        /// A call, named as the `Action` parameter names it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Action {
            $(#[doc = concat!("`", stringify!($name), "`")] $name,)*
        }

        impl Action {
            /// Every call.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in the `Action` parameter.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// Is the call mutating or read-only?
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self {
                    $(Self::$name => Kind::$kind,)*
                }
            }
        }
    };
}

/// The effect of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It may change something.
    Change,
    /// It only reads.
    Read,
}

actions! {
    AssignPrivateIpAddresses Change;
    AttachNetworkInterface Change;
    CreateNetworkInterface Change;
    CreateSubnet Change;
    CreateTags Change;
    CreateVpc Change;
    DeleteNetworkInterface Change;
    DescribeInstanceStatus Read;
    DescribeInstanceTypes Read;
    DescribeInstances Read;
    DescribeNetworkInterfaces Read;
    DescribeSubnets Read;
    DetachNetworkInterface Change;
    RunInstances Change;
    StartInstances Change;
    StopInstances Change;
    TerminateInstances Change;
    UnassignPrivateIpAddresses Change;
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The call is not supported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The action {0} is not valid for this web service.")]
pub struct UnknownAction(pub String);

impl FromStr for Action {
    type Err = UnknownAction;

    fn from_str(text: &str) -> Result<Self, UnknownAction> {
        Self::ALL
            .iter()
            .copied()
            .find(|action| action.as_str() == text)
            .ok_or_else(|| UnknownAction(text.to_owned()))
    }
}
