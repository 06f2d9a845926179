//! Checks whether an `IPBlock` may be created, changed or deleted.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::address::{KnownBlock, Other};
use super::{Denial, DenyReason};
use crate::address::Address;
use crate::block::BlockRange;
use crate::names::{BlockName, listed};

/// Checks that the range of a block does not overlap with another block.
///
/// # Errors
/// It overlaps with another block.
pub fn check_range(
    name: &BlockName,
    range: &BlockRange,
    blocks: &[KnownBlock],
) -> Result<(), Denial> {
    let overlapping = blocks
        .iter()
        .find(|other| other.name != *name && other.range.overlaps(range));
    let Some(other) = overlapping else {
        return Ok(());
    };
    let way_out = if other.deleting {
        "that one is being deleted: try again once it is gone, or choose a range apart from it"
    } else {
        "choose a range apart from it: an address belongs to one block"
    };
    Err(Denial::from_others(
        DenyReason::Invalid,
        format!(
            "IPBlock \"{name}\" ({range}) overlaps IPBlock \"{}\" ({})",
            other.name, other.range
        ),
        way_out,
    ))
}

/// The address of an `IP`: the reserved one, or else the desired one.
fn address(ip: &Other) -> Option<Address> {
    ip.reserved.or(ip.desired)
}

/// Whether an `IP` is in this block. One that names a block can be without an address.
fn is_in(ip: &Other, name: &BlockName, range: &BlockRange) -> bool {
    let contains = || address(ip).is_some_and(|address| range.contains(address));
    ip.block
        .as_ref()
        .map_or_else(contains, |block| block == name)
}

/// Checks that a change of the block leaves no address of an `IP` outside of it.
///
/// # Errors
/// Some addresses would be outside; the message names up to five.
pub fn check_shrink(
    name: &BlockName,
    from: &BlockRange,
    to: &BlockRange,
    ips: &[Other],
) -> Result<(), Denial> {
    let lost: Vec<String> = ips
        .iter()
        .filter(|ip| is_in(ip, name, from))
        .filter_map(|ip| Some((ip, address(ip)?)))
        .filter(|(_, address)| {
            from.check(*address, &[]).is_ok() && to.check(*address, &[]).is_err()
        })
        .map(|(ip, address)| format!("{} ({address})", ip.name))
        .collect();
    if lost.is_empty() {
        return Ok(());
    }
    Err(Denial::from_others(
        DenyReason::Forbidden,
        format!(
            "IPBlock \"{name}\" would lose addresses that IPs have: {}",
            listed(lost)
        ),
        "delete these IPs or give them other addresses first",
    ))
}

/// Checks that the block may be deleted: every `IP` in it must be in deletion too.
///
/// # Errors
/// Other IPs are still in the block; the message names up to five.
pub fn check_delete(block: &KnownBlock, ips: &[Other]) -> Result<(), Denial> {
    let living: Vec<&str> = ips
        .iter()
        .filter(|ip| !ip.deleting && is_in(ip, &block.name, &block.range))
        .map(|ip| ip.name.as_str())
        .collect();
    if living.is_empty() {
        return Ok(());
    }
    Err(Denial::from_others(
        DenyReason::Forbidden,
        format!("IPBlock \"{}\" has IPs: {}", block.name, listed(living)),
        "delete them first: kubectl delete ips.ip.wgtwo.com NAME",
    ))
}
