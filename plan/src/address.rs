//! IPv4 addresses and ranges, and how they are parsed from text.
//!
//! [`Address`] and [`Cidr`] are types of their own, so that most files do not depend on the address family. Some do:
//! `block.rs`, `ec2.rs` and `facts/address_rows.rs` compute with addresses as `u32`, `src/cloud/ec2` reads only the IPv4
//! fields of EC2, and the node part (`src/node`, and its settings in `src/api`) programs IPv4 only.

use alloc::string::{String, ToString};
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use ipnet::{AddrParseError, Ipv4Net, Ipv6Net};

/// An address that a pod can hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(Ipv4Addr);

impl Address {
    /// An IPv4 address. Its octets or its number can be given too.
    #[must_use]
    pub fn v4(address: impl Into<Ipv4Addr>) -> Self {
        Self(address.into())
    }

    /// The address as an IPv4 address, for code that can use IPv4 only.
    #[must_use]
    pub const fn ipv4(self) -> Ipv4Addr {
        self.0
    }

    /// The address of this number: addresses are in the order of their numbers.
    pub(crate) const fn from_number(number: u32) -> Self {
        Self(Ipv4Addr::from_bits(number))
    }

    /// The number of the address.
    pub(crate) const fn number(self) -> u32 {
        self.0.to_bits()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The same text as `Display`, so that lists of addresses are easy to read.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Address {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_address(text)
    }
}

/// A range of addresses with a common prefix. Its address can have bits after the prefix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr(Ipv4Net);

impl Cidr {
    /// An IPv4 range.
    #[must_use]
    pub const fn v4(range: Ipv4Net) -> Self {
        Self(range)
    }

    /// The range as an IPv4 range, for code that can use IPv4 only.
    #[must_use]
    pub const fn ipv4(self) -> Ipv4Net {
        self.0
    }

    /// The range without the bits after the prefix.
    pub(crate) fn trunc(self) -> Self {
        Self(self.0.trunc())
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The same text as `Display`, so that lists of ranges are easy to read.
impl fmt::Debug for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Cidr {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        text.parse().map(Self)
    }
}

/// The first and the last address of a span (both inclusive), as numbers.
pub(crate) type Span = (u32, u32);

/// The span of a range.
pub(crate) fn span(cidr: Cidr) -> Span {
    (first(cidr).number(), last(cidr).number())
}

/// The first address of a range.
pub(crate) fn first(cidr: Cidr) -> Address {
    Address(cidr.0.network())
}

/// The last address of a range.
pub(crate) fn last(cidr: Cidr) -> Address {
    Address(cidr.0.broadcast())
}

/// The addresses of a span.
pub(crate) fn addresses((from, to): Span) -> impl Iterator<Item = Address> {
    (from..=to).map(Address::from_number)
}

/// True if the range contains the address.
pub(crate) fn contains(cidr: Cidr, address: Address) -> bool {
    cidr.0.contains(&address.0)
}

/// True if the two ranges have an address in common.
#[must_use]
pub fn overlap(one: Cidr, other: Cidr) -> bool {
    let ((first, last), (of_other, to_other)) = (span(one), span(other));
    first <= to_other && of_other <= last
}

/// Why a text is not a usable address or CIDR. The error message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParseError {
    /// The text is neither an address nor a CIDR.
    Malformed {
        /// The given value.
        text: String,
        /// The expected format, with an example.
        wanted: &'static str,
    },
    /// The text is an IPv6 address or CIDR.
    Ipv6 {
        /// The given value.
        text: String,
    },
    /// The text is an address, but a CIDR is expected.
    NoPrefix {
        /// The given value.
        address: Address,
    },
    /// The CIDR has host bits set.
    NotCanonical {
        /// The given value.
        text: String,
        /// The same CIDR with the host bits cleared.
        canonical: Cidr,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { text, wanted } => write!(f, "\"{text}\" is not {wanted}"),
            Self::Ipv6 { text } => {
                write!(
                    f,
                    "\"{text}\" is IPv6, which is not supported yet: give an IPv4 one"
                )
            }
            Self::NoPrefix { address } => write!(
                f,
                "\"{address}\" has no prefix length: write \"{address}/32\" for this one address"
            ),
            Self::NotCanonical { text, canonical } => {
                write!(
                    f,
                    "\"{text}\" has bits set behind its prefix: write \"{canonical}\""
                )
            }
        }
    }
}

impl core::error::Error for ParseError {}

/// Parses one IPv4 address in canonical form.
///
/// # Errors
/// The text is an IPv6 address, a CIDR, has leading zeros, or is anything else.
pub fn parse_address(text: &str) -> Result<Address, ParseError> {
    text.parse().map(Address).map_err(|_| {
        if text.parse::<Ipv6Addr>().is_ok() {
            ParseError::Ipv6 {
                text: text.to_string(),
            }
        } else {
            ParseError::Malformed {
                text: text.to_string(),
                wanted: "an IPv4 address such as \"203.0.113.7\"",
            }
        }
    })
}

/// Parses an IPv4 CIDR without host bits.
///
/// # Errors
/// The text is IPv6, a bare address, a CIDR that is not canonical, or anything else.
pub fn parse_cidr(text: &str) -> Result<Cidr, ParseError> {
    if let Ok(net) = text.parse::<Cidr>() {
        if net.to_string() == text && net == net.trunc() {
            return Ok(net);
        }
        return Err(ParseError::NotCanonical {
            text: text.to_string(),
            canonical: net.trunc(),
        });
    }
    if let Ok(address) = text.parse() {
        return Err(ParseError::NoPrefix {
            address: Address(address),
        });
    }
    if text.parse::<Ipv6Net>().is_ok() || text.parse::<Ipv6Addr>().is_ok() {
        return Err(ParseError::Ipv6 {
            text: text.to_string(),
        });
    }
    Err(ParseError::Malformed {
        text: text.to_string(),
        wanted: "an IPv4 CIDR such as \"203.0.113.0/24\"",
    })
}

/// Parses an entry of `spec.excluded`: an address or a CIDR.
///
/// # Errors
/// As [`parse_cidr`], except that a bare address is accepted.
pub fn parse_excluded(text: &str) -> Result<Cidr, ParseError> {
    match parse_cidr(text) {
        Err(ParseError::NoPrefix { address }) => Ok(single(address)),
        Err(ParseError::Malformed { text, .. }) => Err(ParseError::Malformed {
            text,
            wanted: "an IPv4 address or CIDR such as \"203.0.113.7\" or \"203.0.113.0/28\"",
        }),
        other => other,
    }
}

/// The /32 CIDR of one address.
fn single(address: Address) -> Cidr {
    Cidr(Ipv4Net::from(address.0))
}
