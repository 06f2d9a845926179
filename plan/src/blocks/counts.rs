//! The number of addresses of a block in each state.

use alloc::collections::{BTreeMap, BTreeSet};

use super::lies_in;
use crate::address::Address;
use crate::facts::{Facts, SubnetFacts};
use crate::names::BlockName;
use crate::objects::{Block, BlockSpec, BlockStatus};

/// Numbers of addresses of a block. Each address that can be reserved is counted in exactly one state.
pub(super) struct Counts {
    capacity: u64,
    reserved: u64,
    foreign: u64,
    free: u64,
}

impl Counts {
    /// Sets these numbers in the status.
    pub(super) fn into_status(self, status: BlockStatus) -> BlockStatus {
        BlockStatus {
            capacity: self.capacity,
            reserved: self.reserved,
            foreign: self.foreign,
            free: self.free,
            ..status
        }
    }
}

impl Facts {
    /// None until EC2 has answered for the subnet. An address that allocation skips does not count as free.
    pub(super) fn counts(&self, spec: &BlockSpec, subnet: Option<&SubnetFacts>) -> Option<Counts> {
        let (subnet, inventory) = subnet.and_then(SubnetFacts::looked_at)?;
        let range = &spec.range;
        let can_be_reserved = |address: &Address| range.is_allocatable(*address, &subnet.cidrs);
        let reservations = self.reservations.within(range.cidr());
        let reservations = reservations.map(|reservation| reservation.address);
        let of_ips = self.ips.values().filter_map(|ip| ip.status.address);
        let reserved: BTreeSet<Address> =
            reservations.chain(of_ips).filter(can_be_reserved).collect();
        let found_taken = self.memory.values().flat_map(|memory| memory.taken.keys());
        let foreign: BTreeSet<Address> = inventory
            .addresses()
            .map(|(address, _)| *address)
            .chain(inventory.delegated())
            .chain(found_taken.copied())
            .filter(|address| can_be_reserved(address) && !reserved.contains(address))
            .collect();
        let capacity = range.capacity(&subnet.cidrs);
        let (reserved, foreign) = (number(reserved.len()), number(foreign.len()));
        Some(Counts {
            capacity,
            reserved,
            foreign,
            free: capacity.saturating_sub(reserved).saturating_sub(foreign),
        })
    }

    /// Number of addresses per block and state: `free`, `foreign` (another owner has it), or, for an address of an IP,
    /// `reserved`, `claimed`, `attached`, `not_programmed` (attached, but its node does not pass packets) or `deleting`
    /// (the IP is being deleted, and waits for proof that the address is on no ENI). Each address is counted once: the
    /// sum is the capacity of the block. An unreadable IP counts as it was last read.
    #[must_use]
    pub fn addresses_by_state(&self) -> BTreeMap<(BlockName, &'static str), u64> {
        let mut counts = BTreeMap::new();
        for block in self.blocks.values() {
            for (state, count) in self.states_of(block) {
                counts.insert((block.name.clone(), state), count);
            }
        }
        counts
    }

    /// Number of addresses per block with a probe: `verified` if the target of the probe sees the address, else
    /// `not_verified`. Blocks without a probe are not included.
    #[must_use]
    pub fn probed_addresses(&self) -> BTreeMap<(BlockName, &'static str), u64> {
        let mut counts = BTreeMap::new();
        let probed = |block: &&Block| block.spec.as_ref().is_ok_and(|spec| spec.probe);
        for block in self.blocks.values().filter(probed) {
            let ips = self.ips.values().filter(|ip| lies_in(ip, block));
            let conditions = ips.filter_map(|ip| ip.status.conditions.verified.as_ref());
            let (mut seen, mut unseen) = (0, 0);
            for condition in conditions {
                let count = if condition.status {
                    &mut seen
                } else {
                    &mut unseen
                };
                *count += 1;
            }
            counts.insert((block.name.clone(), "verified"), seen);
            counts.insert((block.name.clone(), "not_verified"), unseen);
        }
        counts
    }

    fn states_of(&self, block: &Block) -> [(&'static str, u64); 7] {
        let spec = block.spec.as_ref().ok();
        let subnet = spec.and_then(|spec| self.subnets.get(&spec.subnet));
        let counted = spec.and_then(|spec| self.counts(spec, subnet));
        let known = block.status.clone();
        let status = counted.map_or(known.clone(), |counts| counts.into_status(known));
        let (mut claimed, mut attached, mut not_programmed, mut deleting) = (0, 0, 0, 0);
        let ips = self.ips.values().filter(|ip| lies_in(ip, block));
        for ip in ips.filter(|ip| ip.status.address.is_some()) {
            match &ip.status.claim {
                _ if ip.deleting => deleting += 1,
                None => {}
                Some(claim) if claim.recorded() => match &ip.status.conditions.programmed {
                    Some(programmed) if !programmed.status => not_programmed += 1,
                    _ => attached += 1,
                },
                Some(_) => claimed += 1,
            }
        }
        let held = claimed + attached + not_programmed + deleting;
        let reserved = status.reserved.saturating_sub(held);
        [
            ("free", status.free),
            ("foreign", status.foreign),
            ("reserved", reserved),
            ("claimed", claimed),
            ("attached", attached),
            ("not_programmed", not_programmed),
            ("deleting", deleting),
        ]
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
