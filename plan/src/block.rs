//! The addresses of a block: pure arithmetic on IPv4 ranges.
//!
//! A block is what an administrator hands to Mooring; a *subnet CIDR* is what EC2 knows. They need
//! not be equal: the addresses that AWS keeps for itself are those of the subnet.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// Addresses at the start of every subnet that AWS keeps for itself: network, router, DNS, future
/// use (VPC User Guide, "Subnet CIDR blocks"). The last one, broadcast, is kept too.
const AWS_RESERVED_AT_START: u32 = 4;

/// The addresses of one block: a CIDR without its excluded entries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockRange {
    cidr: Ipv4Net,
    /// Sorted and without repetition, so that equal blocks compare equal.
    excluded: Vec<Ipv4Net>,
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

/// Why an address of a request cannot be one of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unusable {
    /// Not in the block's CIDR.
    OutsideBlock,
    /// In this entry of `spec.excluded`.
    Excluded(Ipv4Net),
    /// Kept by AWS: one of the first four or the last of this subnet CIDR.
    ReservedByAws(Ipv4Net),
    /// In none of the subnet's CIDRs.
    OutsideSubnet,
}

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

/// Whether AWS keeps this address of this subnet CIDR for itself.
#[must_use]
pub fn reserved_by_aws(address: Ipv4Addr, subnet: Ipv4Net) -> bool {
    let (address, first, last) = (u32::from(address), first(subnet), last(subnet));
    (first..=last).contains(&address)
        && (address - first < AWS_RESERVED_AT_START || address == last)
}

fn first(net: Ipv4Net) -> u32 {
    u32::from(net.network())
}

fn last(net: Ipv4Net) -> u32 {
    u32::from(net.broadcast())
}

/// An inclusive span of addresses.
type Span = (u32, u32);

/// Takes `hole` out of sorted, disjoint spans.
fn without(spans: Vec<Span>, hole: Span) -> Vec<Span> {
    let mut rest = Vec::with_capacity(spans.len() + 1);
    for (from, to) in spans {
        if hole.1 < from || to < hole.0 {
            rest.push((from, to));
            continue;
        }
        if from < hole.0 {
            rest.push((from, hole.0 - 1));
        }
        if hole.1 < to {
            rest.push((hole.1 + 1, to));
        }
    }
    rest
}

impl BlockRange {
    /// Reads `spec.cidr` and `spec.excluded`.
    ///
    /// # Errors
    /// The first text that is not what it should be.
    pub fn parse<'a>(
        cidr: &str,
        excluded: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, ParseError> {
        let cidr = parse_cidr(cidr)?;
        let excluded = excluded
            .into_iter()
            .map(parse_excluded)
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self::new(cidr, excluded))
    }

    /// A block of a CIDR without the excluded ones.
    #[must_use]
    pub fn new(cidr: Ipv4Net, mut excluded: Vec<Ipv4Net>) -> Self {
        excluded.sort_unstable();
        excluded.dedup();
        Self {
            cidr: cidr.trunc(),
            excluded,
        }
    }

    /// The CIDR, excluded entries and all.
    #[must_use]
    pub const fn cidr(&self) -> Ipv4Net {
        self.cidr
    }

    /// The excluded entries, sorted.
    #[must_use]
    pub fn excluded(&self) -> &[Ipv4Net] {
        &self.excluded
    }

    /// Whether the address lies in the CIDR, excluded or not.
    #[must_use]
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        self.cidr.contains(&address)
    }

    /// Whether the two have an address in common, excluded ones counted: what one block excludes is
    /// still its own.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        first(self.cidr) <= last(other.cidr) && first(other.cidr) <= last(self.cidr)
    }

    /// Whether the address may be given out, as far as the block and its subnet's CIDRs go.
    /// With no subnet CIDR (the controller has not looked yet) only the block itself is asked.
    ///
    /// # Errors
    /// The first reason against it.
    pub fn check(&self, address: Ipv4Addr, subnets: &[Ipv4Net]) -> Result<(), Unusable> {
        if !self.contains(address) {
            return Err(Unusable::OutsideBlock);
        }
        if let Some(entry) = self.excluded.iter().find(|entry| entry.contains(&address)) {
            return Err(Unusable::Excluded(*entry));
        }
        if let Some(subnet) = subnets
            .iter()
            .find(|subnet| reserved_by_aws(address, **subnet))
        {
            return Err(Unusable::ReservedByAws(*subnet));
        }
        if !subnets.is_empty() && !subnets.iter().any(|subnet| subnet.contains(&address)) {
            return Err(Unusable::OutsideSubnet);
        }
        Ok(())
    }

    /// Whether allocation may give the address out. Never, while the subnet's CIDRs are not known.
    #[must_use]
    pub fn is_allocatable(&self, address: Ipv4Addr, subnets: &[Ipv4Net]) -> bool {
        !subnets.is_empty() && self.check(address, subnets).is_ok()
    }

    /// How many addresses [`Self::is_allocatable`] says yes to.
    #[must_use]
    pub fn capacity(&self, subnets: &[Ipv4Net]) -> u64 {
        let spans = self.allocatable(subnets);
        spans
            .into_iter()
            .map(|(from, to)| u64::from(to) - u64::from(from) + 1)
            .sum()
    }

    /// The lowest allocatable address that `taken` says no to; none when the block is full.
    pub fn lowest_free(
        &self,
        subnets: &[Ipv4Net],
        mut taken: impl FnMut(Ipv4Addr) -> bool,
    ) -> Option<Ipv4Addr> {
        let spans = self.allocatable(subnets);
        let mut addresses = spans
            .into_iter()
            .flat_map(|(from, to)| from..=to)
            .map(Ipv4Addr::from);
        addresses.find(|address| !taken(*address))
    }

    /// Sorted, disjoint spans of what may be given out: the block within its subnet, without the
    /// excluded and AWS's own.
    fn allocatable(&self, subnets: &[Ipv4Net]) -> Vec<Span> {
        let mut subnets = subnets.to_vec();
        subnets.sort_unstable();
        subnets.dedup();
        let mut spans: Vec<Span> = Vec::new();
        for subnet in &subnets {
            let from = first(*subnet).max(first(self.cidr));
            let to = last(*subnet).min(last(self.cidr));
            // CIDRs nest or are disjoint, so one that ends within the last span was covered by it.
            if from <= to && spans.last().is_none_or(|(_, covered)| *covered < to) {
                spans.push((from, to));
            }
        }
        for subnet in &subnets {
            let (from, to) = (first(*subnet), last(*subnet));
            spans = without(
                spans,
                (from, from.saturating_add(AWS_RESERVED_AT_START - 1).min(to)),
            );
            spans = without(spans, (to, to));
        }
        self.excluded.iter().fold(spans, |spans, entry| {
            without(spans, (first(*entry), last(*entry)))
        })
    }
}

impl fmt::Display for BlockRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cidr.fmt(f)
    }
}
