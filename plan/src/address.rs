//! IPv4 addresses and ranges, and how they are parsed from text.
//!
//! [`Address`] and [`Cidr`] are aliases of IPv4 types. Other files depend on the address family too: `block.rs`,
//! `ec2.rs` and `facts/address_rows.rs` compute with addresses as `u32`, and the node part (`src/node`) programs IPv4
//! only.

use alloc::string::{String, ToString};
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// An address that a pod can hold.
pub type Address = Ipv4Addr;

/// A range of addresses with a common prefix.
pub type Cidr = Ipv4Net;

/// The first and the last address of a span (both inclusive), as numbers.
pub(crate) type Span = (u32, u32);

/// The span of a range.
pub(crate) fn span(cidr: Cidr) -> Span {
    (u32::from(cidr.network()), u32::from(cidr.broadcast()))
}

/// The addresses of a span.
pub(crate) fn addresses((from, to): Span) -> impl Iterator<Item = Address> {
    (from..=to).map(Address::from)
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
        address: Ipv4Addr,
    },
    /// The CIDR has host bits set.
    NotCanonical {
        /// The given value.
        text: String,
        /// The same CIDR with the host bits cleared.
        canonical: Ipv4Net,
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
pub fn parse_address(text: &str) -> Result<Ipv4Addr, ParseError> {
    text.parse().map_err(|_| {
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
pub fn parse_cidr(text: &str) -> Result<Ipv4Net, ParseError> {
    if let Ok(net) = text.parse::<Ipv4Net>() {
        if net.to_string() == text && net == net.trunc() {
            return Ok(net);
        }
        return Err(ParseError::NotCanonical {
            text: text.to_string(),
            canonical: net.trunc(),
        });
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Err(ParseError::NoPrefix { address });
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
pub fn parse_excluded(text: &str) -> Result<Ipv4Net, ParseError> {
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
fn single(address: Ipv4Addr) -> Ipv4Net {
    Ipv4Net::from(address)
}
