//! The admission rules for `IPBlock`s.

use mooring_plan::address::overlap;
use mooring_plan::admission::block::{check_delete, check_range, check_shrink};
use mooring_plan::admission::syntax::{check_namespaces, check_node_labels};
use mooring_plan::admission::{Denial, DenyReason};
use mooring_plan::block::{BlockRange, CREATE_AGAIN};
use mooring_plan::names::{BlockName, listed};
use mooring_plan::objects::{BlockSpec, Namespaces};

use super::snapshot::plan_block;
use super::{Allowed, KnownIp, Operation, Snapshot, Verdict};
use crate::api::IpBlock;
use crate::api::read::{UnreadableBlockSpec, block_spec, namespaces};

/// Decides on the creation, update or deletion of an `IPBlock`.
///
/// # Errors
/// The block cannot be read, a field has an impossible value, the block overlaps another one, or an `IP` would lose
/// its address.
pub fn validate_ipblock(operation: &Operation<IpBlock>, snapshot: &Snapshot) -> Verdict {
    match operation {
        Operation::Create(block) => {
            named(None, block)?;
            let BlockSpec { range, .. } = readable(block)?;
            check_range(&name(block), &range, &snapshot.plan_blocks())?;
            Ok(Allowed::silently()
                .warning(useless(block, &range))
                .warning(allows_no_namespace(&name(block), block)))
        }
        // The deletion of a block must not be delayed.
        Operation::Update { new, .. } if new.is_being_deleted() => Ok(Allowed::silently()),
        Operation::Update { old, new } => changed(old, new, snapshot),
        Operation::Delete(block) => {
            // A block that cannot be read has no addresses, so none can be lost.
            let Some(block) = plan_block(block) else {
                return Ok(Allowed::silently());
            };
            check_delete(&block, &snapshot.plan_ips())?;
            Ok(Allowed::silently())
        }
    }
}

/// Whether the operation can remove addresses from a block, or create one that overlaps another. Such an operation
/// cannot be undone: another block may contain the addresses before it is reverted, and IPs may be in a block that
/// overlaps.
pub(super) fn is_irrevocable(operation: &Operation<IpBlock>) -> bool {
    match operation {
        Operation::Create(_) | Operation::Delete(_) => true,
        Operation::Update { new, .. } if new.is_being_deleted() => false,
        Operation::Update { old, new } => old.spec.range().ok() != new.spec.range().ok(),
    }
}

fn name(block: &IpBlock) -> BlockName {
    BlockName::from(block.metadata.name.as_deref().unwrap_or_default())
}

/// Checks new names in a spec. Earlier names are accepted: they can be older than this check (R8.17).
fn named(old: Option<&IpBlock>, new: &IpBlock) -> Result<(), Denial> {
    let name = name(new);
    let allowed = new.spec.allowed_namespaces.as_ref();
    if old.is_none_or(|old| old.spec.allowed_namespaces.as_ref() != allowed) {
        let called = format!("IPBlock \"{name}\"");
        check_namespaces(&called, allowed.into_iter().flatten().map(String::as_str))?;
    }
    if old.is_none_or(|old| old.spec.node != new.spec.node)
        && let Some(node) = &new.spec.node
        && let Err(error) = node.check(&new.subnet_networks())
    {
        return Err(Denial::new(
            DenyReason::Invalid,
            format!("spec.node of IPBlock \"{name}\": {error}"),
            "correct it: routes are the networks of partners, and none is within spec.node.internal (left out: the \
             ranges of RFC 1918 and RFC 6598, 169.254.0.0/16, and the subnet)",
        ));
    }
    match new.node_labels() {
        Some(labels) if old.and_then(IpBlock::node_labels) != Some(labels) => {
            check_node_labels(&name, labels)
        }
        _ => Ok(()),
    }
}

/// Reads the spec with the same code as the controller.
fn readable(block: &IpBlock) -> Result<BlockSpec, Denial> {
    block_spec(&block.spec).map_err(|error| {
        let (what, way_out) = match error {
            UnreadableBlockSpec::Range(error) => {
                (error.to_string(), "correct spec.cidr or spec.excluded")
            }
            UnreadableBlockSpec::FailoverAfter(error) => {
                (error.to_string(), "correct it, or leave it out for 30s")
            }
            UnreadableBlockSpec::NoSubnet => (
                "spec.subnetID is empty".to_owned(),
                "give the id of the subnet",
            ),
        };
        let what = format!("IPBlock \"{}\": {what}", name(block));
        Denial::new(DenyReason::Invalid, what, way_out)
    })
}

fn changed(old: &IpBlock, new: &IpBlock, snapshot: &Snapshot) -> Verdict {
    let name = name(new);
    named(Some(old), new)?;
    let BlockSpec { range, .. } = readable(new)?;
    if old.spec.subnet_id != new.spec.subnet_id {
        return Err(Denial::new(
            DenyReason::Invalid,
            format!("spec.subnetID of IPBlock \"{name}\" cannot be changed"),
            CREATE_AGAIN,
        ));
    }
    match old.spec.range() {
        Ok(before) if before != range => {
            check_range(&name, &range, &snapshot.plan_blocks())?;
            check_shrink(&name, &before, &range, &snapshot.plan_ips())?;
        }
        Ok(_) => {}
        Err(_) => check_range(&name, &range, &snapshot.plan_blocks())?,
    }
    Ok(Allowed::silently()
        .warning(useless(new, &range))
        .warning(ineffective(new))
        .warning(narrowed(old, new, snapshot))
        .warning(unrouted(old, new, snapshot)))
}

/// The warning for an entry of `excluded` outside the range, which is most likely a mistake.
fn useless(block: &IpBlock, range: &BlockRange) -> Option<String> {
    let mut excluded = range.excluded().iter();
    let outside = excluded.find(|entry| !overlap(**entry, range.cidr()))?;
    Some(format!(
        "spec.excluded of IPBlock \"{}\" has {outside}, which is not in {range}",
        name(block)
    ))
}

/// The warning for a stored route that has no effect. A new one is refused.
fn ineffective(block: &IpBlock) -> Option<String> {
    let node = block.spec.node.as_ref()?;
    let checked = node.check_effective(&node.routes, &block.subnet_networks());
    checked
        .err()
        .map(|error| format!("spec.node of IPBlock \"{}\": {error}", name(block)))
}

/// The warning for a spec without `allowedNamespaces`, which allows no namespace.
fn allows_no_namespace(name: &BlockName, block: &IpBlock) -> Option<String> {
    let no_namespace =
        namespaces(block.spec.allowed_namespaces.as_deref()) == Namespaces::default();
    no_namespace.then(|| {
        format!(
            "no pod may have an address of IPBlock \"{name}\": list namespaces in spec.allowedNamespaces ([\"*\"]: all)"
        )
    })
}

/// The warning that pods keep their addresses when their namespaces are not allowed any more.
fn narrowed(old: &IpBlock, new: &IpBlock, snapshot: &Snapshot) -> Option<String> {
    let before = namespaces(old.spec.allowed_namespaces.as_deref());
    let after = namespaces(new.spec.allowed_namespaces.as_deref());
    if !before.narrows_to(&after) {
        return None;
    }
    let block = name(new);
    let stay: Vec<String> = snapshot
        .ips()
        .filter(|ip| ip.reserved_in.as_ref() == Some(&block))
        .filter_map(|ip| ip.holder.as_ref())
        .filter(|holder| !after.allow(&holder.namespace))
        .map(ToString::to_string)
        .collect();
    let pods = if stay.is_empty() {
        "none has one now".to_owned()
    } else {
        listed(&stay)
    };
    Some(format!(
        "pods that have an address of IPBlock \"{block}\" keep it in namespaces that are not allowed any more: {pods}"
    ))
}

/// The warning that routes of IPs have no effect any more.
fn unrouted(old: &IpBlock, new: &IpBlock, snapshot: &Snapshot) -> Option<String> {
    if old.spec.node == new.spec.node {
        return None;
    }
    let effective = |block: &IpBlock, ip: &KnownIp| {
        let node = block.spec.node.as_ref();
        node.is_some_and(|node| {
            let checked = node.check_effective(&ip.routes, &block.subnet_networks());
            checked.is_ok()
        })
    };
    let block = name(new);
    let lost: Vec<String> = snapshot
        .ips()
        .filter(|ip| {
            !ip.routes.is_empty() && ip.reserved_in.as_ref().or(ip.block.as_ref()) == Some(&block)
        })
        .filter(|ip| effective(old, ip) && !effective(new, ip))
        .map(|ip| ip.name.to_string())
        .collect();
    (!lost.is_empty()).then(|| {
        format!(
            "spec.routes of these IPs have no effect any more with this spec.node of IPBlock \"{block}\": {}",
            listed(&lost)
        )
    })
}
