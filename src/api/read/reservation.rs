//! Reads an `IPAddress` of Kubernetes, which is the reservation of an address.

use k8s_openapi::api::networking::v1::{IPAddressSpec, ParentReference};
use kube::core::DynamicObject;
use mooring_plan::address::Address;
use mooring_plan::names::{IpName, IpUid};
use mooring_plan::objects::Reservation;

use super::{Problem, Unreadable, has_finalizer, label, name, part, uid, version_of};
use crate::api::names;

/// The plural of `IP`, which references use.
const IPS: &str = "ips";

/// Reads an `IPAddress`.
///
/// # Errors
/// The name is not an IPv4 address, the identity is missing, or the spec does not match its schema.
pub fn reservation(object: &DynamicObject) -> Result<Reservation, Unreadable> {
    read(object).map_err(|problem| problem.of("IPAddress", object))
}

/// A reference to an `IP`, in the form of an `IPAddress`.
#[must_use]
pub fn parent(ip: &IpName) -> ParentReference {
    ParentReference {
        group: Some(names::GROUP.to_owned()),
        resource: IPS.to_owned(),
        name: ip.to_string(),
        namespace: None,
    }
}

fn read(object: &DynamicObject) -> Result<Reservation, Problem> {
    let meta = &object.metadata;
    let text = name(meta)?;
    let address: Address = text.parse().map_err(|_| Problem::Field {
        field: "metadata.name",
        text: text.to_owned(),
        wanted: "an IPv4 address",
    })?;
    let parent = part::<IPAddressSpec>(object, "spec")?.map(|spec| spec.parent_ref);
    let ours = |parent: &&ParentReference| {
        parent.group.as_deref() == Some(names::GROUP) && parent.resource == IPS
    };
    let owner = meta.owner_references.iter().flatten().find(|owner| {
        owner.kind == "IP" && owner.api_version.split('/').next() == Some(names::GROUP)
    });
    Ok(Reservation {
        address,
        uid: uid(meta)?.to_owned(),
        version: version_of(meta)?,
        deleting: meta.deletion_timestamp.is_some(),
        finalizer: has_finalizer(meta, names::RESERVATION_FINALIZER),
        parent: parent
            .as_ref()
            .filter(ours)
            .map(|parent| IpName::from(parent.name.as_str())),
        parent_text: parent.as_ref().map(in_words).unwrap_or_default(),
        label: label(meta, names::IP_UID_ANNOTATION).map(IpUid::from),
        owner: owner.map(|owner| IpUid::from(owner.uid.as_str())),
        managed: label(meta, names::MANAGED_BY_LABEL) == Some(names::MANAGED_BY),
    })
}

/// The reference as text: "IP partner-a", "Service default/kubernetes", or its fields.
fn in_words(parent: &ParentReference) -> String {
    let group = parent.group.as_deref().unwrap_or_default();
    let kind = match (group, parent.resource.as_str()) {
        (names::GROUP, IPS) => "IP".to_owned(),
        ("", "services") => "Service".to_owned(),
        ("", resource) => resource.to_owned(),
        (group, resource) => format!("{resource}.{group}"),
    };
    match parent
        .namespace
        .as_deref()
        .filter(|namespace| !namespace.is_empty())
    {
        Some(namespace) => format!("{kind} {namespace}/{}", parent.name),
        None => format!("{kind} {}", parent.name),
    }
}
