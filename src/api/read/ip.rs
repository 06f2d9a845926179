//! An `IP`.

use std::net::Ipv4Addr;

use kube::core::DynamicObject;
use mooring_plan::block::{ParseError, parse_address};
use mooring_plan::cloud::Reassign;
use mooring_plan::names::{BlockName, InterfaceId, IpName, IpUid};
use mooring_plan::objects::{Ip, Wish};

use super::{
    Problem, Unreadable, annotation, has_finalizer, name, namespaces, part, read_ip_status, uid,
    version_of,
};
use crate::api::{IpSpec, IpStatus, names};

/// Reads an `IP`. A spec that cannot be read becomes a sentence in `wish`; a status that cannot be read
/// makes the whole unreadable, since an address whose place is not known must not be taken for free.
///
/// # Errors
/// Identity or status cannot be read.
pub fn ip(object: &DynamicObject) -> Result<Ip, Unreadable> {
    read(object).map_err(|problem| problem.of("IP", object))
}

fn read(object: &DynamicObject) -> Result<Ip, Problem> {
    let meta = &object.metadata;
    let wish = match part::<IpSpec>(object, "spec") {
        Ok(Some(spec)) => wish(&spec).map_err(|error| error.to_string()),
        Ok(None) => Err("the spec is missing: give an address or a block".to_owned()),
        Err(Problem::Shape { source, .. }) => {
            Err(format!("the spec cannot be read: {source}: correct it"))
        }
        Err(problem) => Err(problem.to_string()),
    };
    let status = part::<IpStatus>(object, "status")?.unwrap_or_default();
    Ok(Ip {
        name: IpName::from(name(meta)?),
        uid: IpUid::from(uid(meta)?),
        version: version_of(meta)?,
        generation: meta.generation.unwrap_or_default(),
        deleting: meta.deletion_timestamp.is_some(),
        finalizer: has_finalizer(meta, names::IP_FINALIZER),
        wish,
        take_from: annotation(meta, names::TAKE_FROM_ANNOTATION).map(InterfaceId::from),
        status: read_ip_status(&status)?,
    })
}

/// A spec of an `IP` that cannot be read. Each says what to write instead.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableWish {
    /// The address is not IPv4 text in canonical form.
    #[error("spec.address: {0}")]
    Address(ParseError),
    /// Neither an address nor a block is given.
    #[error("the spec names neither an address nor a block: give one")]
    Nothing,
}

/// Reads an `IP`'s spec.
///
/// # Errors
/// Its address cannot be read, or it names neither an address nor a block.
pub fn wish(spec: &IpSpec) -> Result<Wish, UnreadableWish> {
    let address = spec.address.as_deref().map(parse_address).transpose();
    let address = address.map_err(UnreadableWish::Address)?;
    let block = spec
        .block
        .as_deref()
        .filter(|block| !block.is_empty())
        .map(BlockName::from);
    if address.is_none() && block.is_none() {
        return Err(UnreadableWish::Nothing);
    }
    Ok(Wish {
        address,
        block,
        reassign: if spec.reassign {
            Reassign::Allow
        } else {
            Reassign::Refuse
        },
        allowed_namespaces: namespaces(spec.allowed_namespaces.as_deref()),
    })
}

/// The address that a spec asks for; none where the spec cannot be read.
#[must_use]
pub fn wished_address(spec: &IpSpec) -> Option<Ipv4Addr> {
    wish(spec).ok()?.address
}
