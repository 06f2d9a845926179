//! The addresses of a block: pure arithmetic on IPv4 ranges.
//!
//! A block is what an administrator hands to Mooring; a *subnet CIDR* is what EC2 knows. They need
//! not be equal: the addresses that AWS keeps for itself are those of the subnet.

use alloc::vec::Vec;
use core::fmt;

use crate::address::{Address, Cidr, ParseError, Span, parse_cidr, parse_excluded, span};
use crate::ec2::{reserved, reserved_at_start};

/// The addresses of one block: a CIDR without its excluded entries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockRange {
    cidr: Cidr,
    /// Sorted and without repetition, so that equal blocks compare equal.
    excluded: Vec<Cidr>,
}

/// Why an address of a request cannot be one of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unusable {
    /// Not in the block's CIDR.
    OutsideBlock,
    /// In this entry of `spec.excluded`.
    Excluded(Cidr),
    /// Kept by AWS: one of the first four or the last of this subnet CIDR.
    ReservedByAws(Cidr),
    /// In none of the subnet's CIDRs.
    OutsideSubnet,
}

/// Takes `hole` out of sorted, disjoint spans.
fn without(spans: Vec<Span>, hole: Span) -> Vec<Span> {
    let mut rest = Vec::new();
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
    pub fn new(cidr: Cidr, mut excluded: Vec<Cidr>) -> Self {
        excluded.sort_unstable();
        excluded.dedup();
        Self {
            cidr: cidr.trunc(),
            excluded,
        }
    }

    /// The CIDR, excluded entries and all.
    #[must_use]
    pub const fn cidr(&self) -> Cidr {
        self.cidr
    }

    /// The excluded entries, sorted.
    #[must_use]
    pub fn excluded(&self) -> &[Cidr] {
        &self.excluded
    }

    /// Whether the address lies in the CIDR, excluded or not.
    #[must_use]
    pub fn contains(&self, address: Address) -> bool {
        self.cidr.contains(&address)
    }

    /// Whether the two have an address in common, excluded ones counted: what one block excludes is
    /// still its own.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let ((first, last), (of_other, to_other)) = (span(self.cidr), span(other.cidr));
        first <= to_other && of_other <= last
    }

    /// Whether the address may be given out, as far as the block and its subnet's CIDRs go.
    /// With no subnet CIDR (the controller has not looked yet) only the block itself is asked.
    ///
    /// # Errors
    /// The first reason against it.
    pub fn check(&self, address: Address, subnets: &[Cidr]) -> Result<(), Unusable> {
        if !self.contains(address) {
            return Err(Unusable::OutsideBlock);
        }
        if let Some(entry) = self.excluded.iter().find(|entry| entry.contains(&address)) {
            return Err(Unusable::Excluded(*entry));
        }
        if let Some(subnet) = subnets.iter().find(|subnet| reserved(address, **subnet)) {
            return Err(Unusable::ReservedByAws(*subnet));
        }
        if !subnets.is_empty() && !subnets.iter().any(|subnet| subnet.contains(&address)) {
            return Err(Unusable::OutsideSubnet);
        }
        Ok(())
    }

    /// Whether allocation may give the address out. Never, while the subnet's CIDRs are not known.
    #[must_use]
    pub fn is_allocatable(&self, address: Address, subnets: &[Cidr]) -> bool {
        !subnets.is_empty() && self.check(address, subnets).is_ok()
    }

    /// How many addresses [`Self::is_allocatable`] says yes to.
    #[must_use]
    pub fn capacity(&self, subnets: &[Cidr]) -> u64 {
        let spans = self.allocatable(subnets);
        spans
            .into_iter()
            .map(|(from, to)| u64::from(to) - u64::from(from) + 1)
            .sum()
    }

    /// The lowest allocatable address that is not taken; none when the block is full. `taken_to` is asked of an address:
    /// None if it is free, else the last address of a row that is taken from this one on. So a row costs one question.
    pub fn lowest_free(
        &self,
        subnets: &[Cidr],
        mut taken_to: impl FnMut(Address) -> Option<Address>,
    ) -> Option<Address> {
        self.allocatable(subnets)
            .into_iter()
            .find_map(|(from, to)| {
                let mut next = Some(from);
                while let Some(at) = next.filter(|at| *at <= to) {
                    let address = Address::from(at);
                    let Some(last) = taken_to(address) else {
                        return Some(address);
                    };
                    next = at.max(u32::from(last)).checked_add(1);
                }
                None
            })
    }

    /// Sorted, disjoint spans of what may be given out: the block within its subnet, without the
    /// excluded and AWS's own.
    fn allocatable(&self, subnets: &[Cidr]) -> Vec<Span> {
        let mut subnets = subnets.to_vec();
        subnets.sort_unstable();
        subnets.dedup();
        let mut spans: Vec<Span> = Vec::new();
        for subnet in &subnets {
            let ((first, last), (of_block, to_block)) = (span(*subnet), span(self.cidr));
            let (from, to) = (first.max(of_block), last.min(to_block));
            // CIDRs nest or are disjoint, so one that ends within the last span was covered by it.
            if from <= to && spans.last().is_none_or(|(_, covered)| *covered < to) {
                spans.push((from, to));
            }
        }
        for subnet in &subnets {
            let (_, last) = span(*subnet);
            spans = without(spans, reserved_at_start(*subnet));
            spans = without(spans, (last, last));
        }
        self.excluded
            .iter()
            .fold(spans, |spans, entry| without(spans, span(*entry)))
    }
}

impl fmt::Display for BlockRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cidr.fmt(f)
    }
}
