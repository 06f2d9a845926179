//! Addresses, ranges of them, and the texts that users write for them. Only this file knows that they are IPv4.

use alloc::string::{String, ToString};
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// An address that can be held for a pod.
pub type Address = Ipv4Addr;

/// A range of addresses that have a prefix in common.
pub type Cidr = Ipv4Net;

/// The first and the last address of a span, as numbers.
pub(crate) type Span = (u32, u32);

/// The span of a range.
pub(crate) fn span(cidr: Cidr) -> Span {
    (u32::from(cidr.network()), u32::from(cidr.broadcast()))
}

/// The addresses of a span.
pub(crate) fn addresses((from, to): Span) -> impl Iterator<Item = Address> {
    (from..=to).map(Address::from)
}

/// Why a text is not an address or CIDR that can be used. Each says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParseError {
    /// Neither an address nor a CIDR.
    Malformed {
        /// What was given.
        text: String,
        /// What was asked for, with an example.
        wanted: &'static str,
    },
    /// An IPv6 address or CIDR.
    Ipv6 {
        /// What was given.
        text: String,
    },
    /// An address where a CIDR is asked for.
    NoPrefix {
        /// What was given.
        address: Ipv4Addr,
    },
    /// A CIDR with bits set behind its prefix.
    NotCanonical {
        /// What was given.
        text: String,
        /// The CIDR that it lies in.
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

/// Reads one IPv4 address in canonical text.
///
/// # Errors
/// IPv6, a CIDR, leading zeros, anything else.
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

/// Reads an IPv4 CIDR without bits behind its prefix.
///
/// # Errors
/// IPv6, a bare address, a CIDR that is not canonical, anything else.
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

/// Reads an entry of `spec.excluded`: an address or a CIDR.
///
/// # Errors
/// As [`parse_cidr`], except that a bare address is well.
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

/// The CIDR of one address.
fn single(address: Ipv4Addr) -> Ipv4Net {
    Ipv4Net::from(address)
}
