//! The limits of interfaces and addresses of an instance, by its type.

use std::fmt;
use std::str::FromStr;

macro_rules! types {
    ($($variant:ident, $name:literal, $interfaces:literal x $addresses:literal;)*) => {
        /// The known instance types. The numbers are from the EC2 User Guide, "IP addresses per network interface per
        /// instance type".
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum InstanceType {
            $(#[doc = $name] $variant,)*
        }

        impl InstanceType {
            /// Every type, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name of the type.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The maximum number of interfaces of an instance, including the primary one.
            #[must_use]
            pub const fn interfaces(self) -> usize {
                match self {
                    $(Self::$variant => $interfaces,)*
                }
            }

            /// The maximum number of IPv4 addresses of an interface, including its primary address.
            #[must_use]
            pub const fn addresses_per_interface(self) -> usize {
                match self {
                    $(Self::$variant => $addresses,)*
                }
            }
        }
    };
}

types! {
    T3Micro, "t3.micro", 2 x 2;
    T3Small, "t3.small", 3 x 4;
    T3Medium, "t3.medium", 3 x 6;
    C5Large, "c5.large", 3 x 10;
    M5Large, "m5.large", 3 x 10;
    C6iXlarge, "c6i.xlarge", 4 x 15;
    M54xlarge, "m5.4xlarge", 8 x 30;
    C524xlarge, "c5.24xlarge", 15 x 50;
}

impl fmt::Display for InstanceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the instance type '{0}' is not one of those known here")]
pub struct UnknownInstanceType(pub String);

impl FromStr for InstanceType {
    type Err = UnknownInstanceType;

    fn from_str(text: &str) -> Result<Self, UnknownInstanceType> {
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownInstanceType(text.to_owned()))
    }
}
