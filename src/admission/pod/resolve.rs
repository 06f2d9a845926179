//! Resolves the annotation of a pod to the `IP` and the block that it means.

use mooring_plan::admission::{Denial, DenyReason};
use mooring_plan::names::Namespace;
use mooring_plan::objects::Namespaces;

use crate::admission::{KnownIp, Snapshot};
use crate::api::IpBlock;
use crate::api::read::namespaces;

/// The most characters of the name of an IP or of an address. A longer text is refused without a lookup, and the
/// message does not repeat it.
const LONGEST: usize = 63;

/// The IP that a pod asks for, and its block.
#[derive(Clone, Copy, Debug)]
pub struct Resolved<'a> {
    pub ip: &'a KnownIp,
    pub block: &'a IpBlock,
}

impl<'a> Resolved<'a> {
    /// The IP's name.
    pub fn ip_name(&self) -> &'a str {
        self.ip.name.as_str()
    }

    /// The block's name.
    pub fn block_name(&self) -> &'a str {
        self.block.metadata.name.as_deref().unwrap_or_default()
    }
}

/// Resolves `annotation` for a pod of this namespace.
pub fn resolve<'a>(
    annotation: &str,
    namespace: &str,
    snapshot: &'a Snapshot,
) -> Result<Resolved<'a>, Denial> {
    if annotation.is_empty() {
        return Err(Denial::new(
            DenyReason::Invalid,
            "annotation ip.wgtwo.com/ip is empty",
            "give it the name or the address of an IP: kubectl get ips.ip.wgtwo.com",
        ));
    }
    if annotation.len() > LONGEST {
        return Err(Denial::new(
            DenyReason::Invalid,
            format!(
                "annotation ip.wgtwo.com/ip has {} characters",
                annotation.len()
            ),
            "name an IP, whose name has 63 at most, or its address: kubectl get ips.ip.wgtwo.com",
        ));
    }
    let ip = snapshot
        .ip_meant(annotation)
        .ok_or_else(|| not_for(annotation, namespace))?;
    let of = Namespace::from(namespace);
    if !ip.allows(&of) {
        return Err(not_for(annotation, namespace));
    }
    let Some(block) = snapshot.block_for(ip) else {
        return Err(match ip.namespaces {
            // The IP allows this namespace by name, so a more exact message discloses nothing.
            Namespaces::Only(_) => no_block(ip),
            Namespaces::All => not_for(annotation, namespace),
        });
    };
    if !namespaces(block.spec.allowed_namespaces.as_deref()).allow(&of) {
        return Err(not_for(annotation, namespace));
    }
    if ip.deleting {
        return Err(Denial::from_others(
            DenyReason::Forbidden,
            format!("IP \"{annotation}\" is being deleted"),
            "name another IP, or create it again once it is gone",
        ));
    }
    Ok(Resolved { ip, block })
}

/// The text is the same if the `IP` does not exist and if it is not for this namespace. So the existence of an IP is
/// not disclosed to namespaces that may not use it.
fn not_for(annotation: &str, namespace: &str) -> Denial {
    Denial::from_others(
        DenyReason::Forbidden,
        format!("IP \"{annotation}\" does not exist, or namespace \"{namespace}\" may not use it"),
        "create it first, or have the namespace added to spec.allowedNamespaces of the IP and of its IPBlock (left out: \
         no namespace may use it)",
    )
}

fn no_block(ip: &KnownIp) -> Denial {
    let name = &ip.name;
    Denial::from_others(
        DenyReason::Forbidden,
        format!("IP \"{name}\" has no IPBlock, or more than one could be meant"),
        "create its IPBlock first, or give the IP spec.block: kubectl get ipblocks shows those that exist",
    )
}
