//! Checks whether an `IP` may get the address that its spec asks for.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Denial, DenyReason};
use crate::address::{Address, Cidr};
use crate::block::{BlockRange, Unusable};
use crate::ec2::RESERVED_IN_WORDS;
use crate::names::{BlockName, IpName, listed};

/// The parts of a block that the address checks need.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KnownBlock {
    /// The name of the object.
    pub name: BlockName,
    /// The addresses of the block.
    pub range: BlockRange,
    /// The CIDRs of its subnet; empty until the controller has read the subnet.
    pub subnets: Vec<Cidr>,
    /// True if the object is being deleted.
    pub deleting: bool,
}

/// Another `IP`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Other {
    /// The name of the object.
    pub name: IpName,
    /// `spec.address`.
    pub desired: Option<Address>,
    /// `status.address`.
    pub reserved: Option<Address>,
    /// The block that the `IP` names, or that its address is reserved in.
    pub block: Option<BlockName>,
    /// True if the object is being deleted.
    pub deleting: bool,
}

/// The parent of an `IPAddress` object (`spec.parentRef`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Parent {
    /// An `IP` of this name.
    Ip(IpName),
    /// Another object, as text, such as `Service default/kubernetes`.
    Else(String),
}

/// The address and block that an `IP` asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asked {
    /// The name of the object.
    pub name: IpName,
    /// `spec.address`.
    pub address: Option<Address>,
    /// `spec.block`.
    pub block: Option<BlockName>,
}

/// The block of the `IP`: the one that it names, or else the one that contains its address.
///
/// # Errors
/// No block matches, or more than one.
pub fn block_of<'a>(asked: &Asked, blocks: &'a [KnownBlock]) -> Result<&'a KnownBlock, Denial> {
    if let Some(name) = &asked.block {
        return blocks
            .iter()
            .find(|block| block.name == *name)
            .ok_or_else(|| {
                let (exist, way_out) = existing(blocks, "Name one of them, or create it first.");
                Denial::from_others(
                    DenyReason::Invalid,
                    format!(
                        "IP \"{}\" names IPBlock \"{name}\", which does not exist. {exist}",
                        asked.name
                    ),
                    way_out,
                )
            });
    }
    let Some(address) = asked.address else {
        return Err(Denial::new(
            DenyReason::Invalid,
            format!("IP \"{}\" has neither an address nor a block", asked.name),
            "give spec.address, or spec.block to have one allocated",
        ));
    };
    let mut around = blocks.iter().filter(|block| block.range.contains(address));
    match (around.next(), around.next()) {
        (Some(block), None) => Ok(block),
        (None, _) => {
            let (exist, way_out) = existing(
                blocks,
                "Use an address of one of them, or create a block first.",
            );
            Err(Denial::from_others(
                DenyReason::Invalid,
                format!(
                    "address {address} of IP \"{}\" is in no IPBlock. {exist}",
                    asked.name
                ),
                way_out,
            ))
        }
        (Some(one), Some(another)) => Err(Denial::from_others(
            DenyReason::Invalid,
            format!(
                "address {address} of IP \"{}\" is in more than one IPBlock",
                asked.name
            ),
            format!("give spec.block: \"{}\" or \"{}\"", one.name, another.name),
        )),
    }
}

/// The existing blocks as text, and what to do if none of them fits.
fn existing(blocks: &[KnownBlock], way_out: &'static str) -> (String, &'static str) {
    if blocks.is_empty() {
        let first = "Create one first, with a spec.cidr that contains the address.";
        return ("There is no IPBlock yet.".into(), first);
    }
    let names = blocks
        .iter()
        .map(|block| format!("{} ({})", block.name, block.range));
    (format!("Existing blocks: {}.", listed(names)), way_out)
}

/// Checks whether the `IP` may have what it asks for, and returns its block. `parent` is the parent of the
/// `IPAddress` object of that address, if there is one and that parent exists.
///
/// # Errors
/// The first reason to refuse it.
pub fn check<'a>(
    asked: &Asked,
    blocks: &'a [KnownBlock],
    others: &[Other],
    parent: Option<&Parent>,
) -> Result<&'a KnownBlock, Denial> {
    let block = block_of(asked, blocks)?;
    if block.deleting {
        return Err(Denial::from_others(
            DenyReason::Forbidden,
            format!(
                "IPBlock \"{}\" of IP \"{}\" is being deleted",
                block.name, asked.name
            ),
            "name another block, or create it again once it is gone",
        ));
    }
    if let Some(address) = asked.address {
        usable(asked, address, block)?;
        unused(asked, address, others, parent)?;
    }
    Ok(block)
}

fn usable(asked: &Asked, address: Address, block: &KnownBlock) -> Result<(), Denial> {
    let (ip, name, range) = (&asked.name, &block.name, &block.range);
    let (what, way_out) = match block.range.check(address, &block.subnets) {
        Ok(()) => return Ok(()),
        Err(Unusable::OutsideBlock) => (
            format!("address {address} of IP \"{ip}\" is not in IPBlock \"{name}\" ({range})"),
            format!("choose an address of {range}, or the block that has this one"),
        ),
        Err(Unusable::Excluded(entry)) => (
            format!(
                "address {address} of IP \"{ip}\" is excluded by IPBlock \"{name}\" ({entry} in spec.excluded)"
            ),
            "choose another address, or remove the entry from the block's spec.excluded".into(),
        ),
        Err(Unusable::ReservedByAws(subnet)) => (
            format!(
                "address {address} of IP \"{ip}\" is one that AWS reserves in subnet {subnet}: \
                 {RESERVED_IN_WORDS}"
            ),
            "choose another address".into(),
        ),
        Err(Unusable::OutsideSubnet) => (
            format!(
                "address {address} of IP \"{ip}\" is in IPBlock \"{name}\" but not in the block's subnet ({})",
                listed(&block.subnets)
            ),
            "choose an address of the subnet".into(),
        ),
    };
    Err(Denial::from_others(DenyReason::Invalid, what, way_out))
}

fn unused(
    asked: &Asked,
    address: Address,
    others: &[Other],
    parent: Option<&Parent>,
) -> Result<(), Denial> {
    let holder = others
        .iter()
        .filter(|other| other.name != asked.name)
        .find(|other| other.desired == Some(address) || other.reserved == Some(address));
    let what = |holder: &dyn core::fmt::Display| {
        format!(
            "address {address} of IP \"{}\" is in use by {holder}",
            asked.name
        )
    };
    if let Some(holder) = holder {
        let way_out = if holder.deleting {
            "it is being deleted: try again once it is gone, or choose another address"
        } else {
            "choose another address, or delete that IP first"
        };
        let holder = format!("IP \"{}\"", holder.name);
        return Err(Denial::from_others(
            DenyReason::Invalid,
            what(&holder),
            way_out,
        ));
    }
    let (holder, way_out) = match parent {
        None => return Ok(()),
        Some(Parent::Ip(name)) if *name == asked.name => return Ok(()),
        Some(Parent::Ip(name)) => (
            format!("IP \"{name}\", which has reserved it"),
            "choose another address, or wait until that IP has released it",
        ),
        Some(Parent::Else(words)) => (
            words.clone(),
            "choose another address, or free this one: kubectl get ipaddresses shows who uses it",
        ),
    };
    Err(Denial::from_others(
        DenyReason::Invalid,
        what(&holder),
        way_out,
    ))
}
