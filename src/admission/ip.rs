//! The admission rules for `IP`s.

use mooring_plan::address::Address;
use mooring_plan::admission::address::check;
use mooring_plan::admission::syntax::{check_namespaces, check_take_from};
use mooring_plan::admission::{Denial, DenyReason};
use mooring_plan::objects::{DesiredIp, Namespaces};

use super::{Allowed, KnownIp, Operation, Snapshot, Verdict};
use crate::api::read::{UnreadableSpec, desired, desired_address};
use crate::api::{Ip, IpBlock, IpSpec, IpStatus, check_routes};

/// Decides on the creation, update or deletion of an `IP`.
///
/// # Errors
/// The IP cannot have the address that it asks for, or a field has an impossible value.
pub fn validate_ip(operation: &Operation<Ip>, snapshot: &Snapshot) -> Verdict {
    match operation {
        Operation::Create(ip) => {
            named(None, ip)?;
            place(ip, &readable(ip)?, snapshot)
        }
        // The deletion of an IP must not be delayed.
        Operation::Update { new, .. } if new.is_being_deleted() => Ok(Allowed::silently()),
        Operation::Update { old, new } => {
            named(Some(old), new)?;
            changed(old, new, snapshot)
        }
        Operation::Delete(ip) => Ok(Allowed::silently().warning(leaving(ip))),
    }
}

/// The address whose reservation the verdict depends on. None: it depends on no reservation.
#[must_use]
pub fn address_wanted(operation: &Operation<Ip>) -> Option<Address> {
    match operation {
        Operation::Create(ip) => desired_address(&ip.spec),
        Operation::Update { old, new } if old.spec.address != new.spec.address => {
            desired_address(&new.spec)
        }
        Operation::Update { .. } | Operation::Delete(_) => None,
    }
}

fn name(ip: &Ip) -> &str {
    ip.metadata.name.as_deref().unwrap_or_default()
}

/// Checks new names in a spec. Earlier names are accepted: they can be older than this check (R8.17).
fn named(old: Option<&Ip>, new: &Ip) -> Result<(), Denial> {
    let called = format!("IP \"{}\"", name(new));
    let allowed = new.spec.allowed_namespaces.as_ref();
    if old.is_none_or(|old| old.spec.allowed_namespaces.as_ref() != allowed) {
        check_namespaces(&called, allowed.into_iter().flatten().map(String::as_str))?;
    }
    if old.is_none_or(|old| old.spec.routes != new.spec.routes)
        && let Err(error) = check_routes(&new.spec.routes)
    {
        return Err(Denial::new(
            DenyReason::Invalid,
            format!("spec.routes of {called}: {error}"),
            "correct it: each is a network of a partner, with its gateway if it is not that of the subnet",
        ));
    }
    match new.take_from() {
        Some(interface) if old.and_then(Ip::take_from).as_ref() != Some(&interface) => {
            check_take_from(&called, interface.as_str())
        }
        _ => Ok(()),
    }
}

/// Checks that the routes have an effect in the block that the spec of the IP means, with the present networks of that
/// block. For routes that were stored for the same block there is only a warning.
fn routed(old: Option<&Ip>, new: &Ip, snapshot: &Snapshot) -> Verdict {
    let routes = &new.spec.routes;
    if routes.is_empty() {
        return Ok(Allowed::silently());
    }
    let block_for = |ip| snapshot.block_for(&KnownIp::from(ip));
    let Some(block) = block_for(new) else {
        return Ok(Allowed::silently());
    };
    let called = block.metadata.name.as_deref().unwrap_or_default();
    let of_block = |other: &IpBlock| other.metadata.name == block.metadata.name;
    let stored =
        old.is_some_and(|old| old.spec.routes == *routes && block_for(old).is_some_and(of_block));
    let Some(node) = &block.spec.node else {
        if stored {
            return Ok(Allowed::silently());
        }
        return Ok(Allowed::silently().warning(Some(format!(
            "spec.routes of IP \"{}\" have no effect: IPBlock \"{called}\" has no spec.node",
            name(new)
        ))));
    };
    let Err(error) = node.check_effective(routes, &block.subnet_networks()) else {
        return Ok(Allowed::silently());
    };
    let problem = format!(
        "spec.routes of IP \"{}\": {error} (IPBlock \"{called}\")",
        name(new)
    );
    if stored {
        return Ok(Allowed::silently().warning(Some(problem)));
    }
    Err(Denial::from_others(
        DenyReason::Invalid,
        problem,
        "give networks that are not within spec.node.internal of the IPBlock (left out: the ranges of RFC 1918 and \
         RFC 6598, 169.254.0.0/16, and the subnet)",
    ))
}

/// Reads the spec with the same code as the controller.
fn readable(ip: &Ip) -> Result<DesiredIp, Denial> {
    desired(&ip.spec).map_err(|error| match error {
        UnreadableSpec::Address(error) => Denial::new(
            DenyReason::Invalid,
            format!("spec.address of IP \"{}\": {error}", name(ip)),
            "correct spec.address, or leave it out and give spec.block",
        ),
        UnreadableSpec::Nothing => Denial::new(
            DenyReason::Invalid,
            format!("IP \"{}\" has neither an address nor a block", name(ip)),
            "give spec.address, or spec.block to have one allocated",
        ),
    })
}

fn place(ip: &Ip, desired: &DesiredIp, snapshot: &Snapshot) -> Verdict {
    let blocks = snapshot.plan_blocks();
    let block = check(
        &KnownIp::from(ip).asked(),
        &blocks,
        &snapshot.plan_ips(),
        snapshot.parent(),
    )?;
    let full = desired.address.is_none() && is_full(snapshot, block.name.as_str());
    let no_namespace = desired.allowed_namespaces == Namespaces::default();
    let no_namespace = no_namespace.then(|| {
        format!(
            "no pod may have IP \"{}\": list namespaces in spec.allowedNamespaces ([\"*\"]: all that its block allows)",
            name(ip)
        )
    });
    Ok(routed(None, ip, snapshot)?
        .warning(no_namespace)
        .warning(full.then(|| {
            format!(
                "IPBlock \"{}\" has no free address: IP \"{}\" waits for one",
                block.name,
                name(ip)
            )
        })))
}

fn is_full(snapshot: &Snapshot, block: &str) -> bool {
    let status = snapshot
        .block(block)
        .and_then(|block| block.status.as_ref());
    status.is_some_and(|status| !status.subnet_cidrs.is_empty() && status.free == 0)
}

/// The fields that decide which address and block the IP gets.
fn location(spec: &IpSpec) -> (Option<&str>, Option<&str>) {
    (spec.address.as_deref(), spec.block.as_deref())
}

fn changed(old: &Ip, new: &Ip, snapshot: &Snapshot) -> Verdict {
    if location(&old.spec) == location(&new.spec) {
        return routed(Some(old), new, snapshot);
    }
    readable(new)?;
    let blocks = snapshot.plan_blocks();
    // Without `spec.address` the IP keeps its reserved address.
    let desired = KnownIp::from(new).asked();
    let block = check(&desired, &blocks, &snapshot.plan_ips(), snapshot.parent())?;
    let claimed = new.status.as_ref().filter(|status| status.claimed);
    let claimed_in = claimed.and_then(|status| Some((status, status.block.as_deref()?)));
    if let Some((status, reserved_in)) = claimed_in
        && block.name.as_str() != reserved_in
    {
        return Err(stays(name(new), status, reserved_in, block.name.as_str()));
    }
    let exchange = claimed_in.and_then(|_| exchange(new, desired.address));
    Ok(routed(Some(old), new, snapshot)?.warning(exchange))
}

/// The refusal to let a claimed IP go to another block.
fn stays(ip: &str, status: &IpStatus, reserved_in: &str, block: &str) -> Denial {
    let (what, way_out) = if status.is_detaching() {
        let address = status.address.as_deref().unwrap_or_default();
        (
            format!(
                "IP \"{ip}\" cannot go to IPBlock \"{block}\" yet, because its address {address} is still being \
                 detached (see its conditions)"
            ),
            "try again when CLAIMED is false in the output of kubectl get ips, or create another IP",
        )
    } else {
        let holder = status.pod.as_deref().unwrap_or_default();
        (
            format!(
                "IP \"{ip}\" is held by pod {holder} in IPBlock \"{reserved_in}\" and cannot go to IPBlock \"{block}\""
            ),
            "delete the pod or remove its annotation ip.wgtwo.com/ip first, or create another IP",
        )
    };
    Denial::from_others(DenyReason::Forbidden, what, way_out)
}

/// The warning for a pod whose address is edited. There is none while the address is being detached: no pod is to keep
/// it.
fn exchange(ip: &Ip, desired: Option<Address>) -> Option<String> {
    let (status, from, to) = (ip.status.as_ref()?, ip.reserved_address()?, desired?);
    (from != to && !status.is_detaching()).then(|| {
        format!(
            "{from} will be unassigned from pod {} and replaced by {to}: connections over {from} break, and the pod \
             is NotReady meanwhile",
            status.pod.as_deref().unwrap_or_default()
        )
    })
}

fn leaving(ip: &Ip) -> Option<String> {
    let holder = ip.holder()?;
    let status = ip.status.as_ref()?;
    let address = status.address.as_deref().unwrap_or_default();
    if status.is_detaching() {
        return Some(format!(
            "IP \"{}\" stays until its address {address} is detached (see its conditions)",
            name(ip)
        ));
    }
    Some(format!(
        "IP \"{}\" is held by pod {holder}: address {address} will be unassigned, and the pod becomes NotReady",
        name(ip)
    ))
}
