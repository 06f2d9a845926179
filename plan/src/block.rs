//! The addresses of a block: pure arithmetic on IPv4 ranges.
//!
//! An administrator defines a block; EC2 defines the CIDRs of a subnet. They can differ. Which addresses AWS reserves
//! depends on the subnet, not on the block.

use alloc::vec::Vec;
use core::fmt;

use crate::address::{
    Address, Cidr, ParseError, Span, contains, overlap, parse_cidr, parse_excluded, span,
};
use crate::ec2::{reserved, reserved_at_start};

/// The way to another subnet: the subnet cannot be changed, and no second block can have the same range.
pub const CREATE_AGAIN: &str = "delete the IPs of this block and the block, then create it again with the right \
                                spec.subnetID (deleting an IP takes the address from its pod)";

/// What is wrong if EC2 does not know a subnet that is there.
pub const CHECK_ACCOUNT: &str =
    "check first the region (AWS_REGION) and the account (role) of the controller";

/// The addresses of one block: a CIDR without its excluded entries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockRange {
    cidr: Cidr,
    /// Sorted and without duplicates, so that equal blocks compare equal.
    excluded: Vec<Cidr>,
}

/// Why an address cannot be used in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unusable {
    /// It is outside of the CIDR of the block.
    OutsideBlock,
    /// It is in this entry of `spec.excluded`.
    Excluded(Cidr),
    /// AWS reserves it: it is one of the first four addresses or the last one of this subnet CIDR.
    ReservedByAws(Cidr),
    /// It is in no CIDR of the subnet.
    OutsideSubnet,
}

/// Removes `hole` from sorted, disjoint spans.
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
    /// Parses `spec.cidr` and `spec.excluded`.
    ///
    /// # Errors
    /// The first text that cannot be parsed.
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

    /// The range of a CIDR without the excluded CIDRs.
    #[must_use]
    pub fn new(cidr: Cidr, mut excluded: Vec<Cidr>) -> Self {
        excluded.sort_unstable();
        excluded.dedup();
        Self {
            cidr: cidr.trunc(),
            excluded,
        }
    }

    /// The CIDR, including the excluded entries.
    #[must_use]
    pub const fn cidr(&self) -> Cidr {
        self.cidr
    }

    /// The excluded entries, sorted.
    #[must_use]
    pub fn excluded(&self) -> &[Cidr] {
        &self.excluded
    }

    /// True if the CIDR contains the address, also if the address is excluded.
    #[must_use]
    pub fn contains(&self, address: Address) -> bool {
        contains(self.cidr, address)
    }

    /// True if the two CIDRs overlap. Excluded addresses count too: they still belong to their block.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        overlap(self.cidr, other.cidr)
    }

    /// Checks that the address may be reserved, by the block and by the CIDRs of its subnet. `subnets` is empty until
    /// the controller has read the subnet; then only the block is checked.
    ///
    /// # Errors
    /// The first reason why not.
    pub fn check(&self, address: Address, subnets: &[Cidr]) -> Result<(), Unusable> {
        if !self.contains(address) {
            return Err(Unusable::OutsideBlock);
        }
        if let Some(entry) = self
            .excluded
            .iter()
            .find(|entry| contains(**entry, address))
        {
            return Err(Unusable::Excluded(*entry));
        }
        if let Some(subnet) = subnets.iter().find(|subnet| reserved(address, **subnet)) {
            return Err(Unusable::ReservedByAws(*subnet));
        }
        if !subnets.is_empty() && !subnets.iter().any(|subnet| contains(*subnet, address)) {
            return Err(Unusable::OutsideSubnet);
        }
        Ok(())
    }

    /// True if allocation may choose the address. Always false while the CIDRs of the subnet are not known.
    #[must_use]
    pub fn is_allocatable(&self, address: Address, subnets: &[Cidr]) -> bool {
        !subnets.is_empty() && self.check(address, subnets).is_ok()
    }

    /// Number of addresses for which [`Self::is_allocatable`] is true.
    #[must_use]
    pub fn capacity(&self, subnets: &[Cidr]) -> u64 {
        let spans = self.allocatable(subnets);
        spans
            .into_iter()
            .map(|(from, to)| u64::from(to) - u64::from(from) + 1)
            .sum()
    }

    /// The lowest allocatable address that is not taken; None if the block is full. `taken_until(address)` returns None if
    /// the address is free, else the last address of the taken row that begins there: a row costs one call.
    pub fn lowest_free(
        &self,
        subnets: &[Cidr],
        mut taken_until: impl FnMut(Address) -> Option<Address>,
    ) -> Option<Address> {
        self.allocatable(subnets)
            .into_iter()
            .find_map(|(from, to)| {
                let mut next = Some(from);
                while let Some(at) = next.filter(|at| *at <= to) {
                    let address = Address::from_number(at);
                    let Some(last) = taken_until(address) else {
                        return Some(address);
                    };
                    next = at.max(last.number()).checked_add(1);
                }
                None
            })
    }

    /// Sorted, disjoint spans of the allocatable addresses: the block within its subnet, without the excluded addresses
    /// and those that AWS reserves.
    fn allocatable(&self, subnets: &[Cidr]) -> Vec<Span> {
        let mut subnets = subnets.to_vec();
        subnets.sort_unstable();
        subnets.dedup();
        let mut spans: Vec<Span> = Vec::new();
        for subnet in &subnets {
            let ((first, last), (of_block, to_block)) = (span(*subnet), span(self.cidr));
            let (from, to) = (first.max(of_block), last.min(to_block));
            // CIDRs are nested or disjoint: one that ends within the last span is already part of it.
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
