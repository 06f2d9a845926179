//! Reads an `IP`.

use kube::core::DynamicObject;
use mooring_plan::names::{InterfaceId, IpName, IpUid};
use mooring_plan::objects::Ip;

use super::{
    Problem, Unreadable, annotation, desired, has_finalizer, name, part, read_ip_status, spec, uid,
    version_of,
};
use crate::api::{IpStatus, names};

/// Reads an `IP`. If the spec cannot be read, `desired` contains a message. If the status cannot be read, the whole IP
/// is unreadable, because an address whose place is not known must not count as free.
///
/// # Errors
/// Identity or status cannot be read.
pub fn ip(object: &DynamicObject) -> Result<Ip, Unreadable> {
    read(object).map_err(|problem| problem.of("IP", object))
}

fn read(object: &DynamicObject) -> Result<Ip, Problem> {
    let meta = &object.metadata;
    let status = part::<IpStatus>(object, "status")?.unwrap_or_default();
    Ok(Ip {
        name: IpName::from(name(meta)?),
        uid: IpUid::from(uid(meta)?),
        version: version_of(meta)?,
        generation: meta.generation.unwrap_or_default(),
        deleting: meta.deletion_timestamp.is_some(),
        finalizer: has_finalizer(meta, names::IP_FINALIZER),
        desired: spec(object, "give an address or a block", desired),
        take_from: annotation(meta, names::TAKE_FROM_ANNOTATION).map(InterfaceId::from),
        status: read_ip_status(&status)?,
    })
}
