//! The one reader from Kubernetes objects to the types that decisions are made of, and the writer of
//! their status back.
//!
//! Objects come as [`DynamicObject`], so that one that does not match its schema is refused alone and
//! by name, and no watch ends for it. What cannot be read is never taken for absent. The API server's are parsed as
//! [`Reduced`]: without the fields that nothing here reads.

mod block;
mod block_status;
mod conditions;
mod desired_ip;
mod ip;
mod ip_status;
mod node;
mod node_report;
mod pod;
mod reduced;
mod reduced_metadata;
mod replica_set;
mod reservation;
mod unreadable_ip;

pub use block::{UnreadableBlockSpec, block, block_spec};
pub use block_status::{block_status_patch, read_block_status};
pub use desired_ip::{UnreadableSpec, desired, desired_address};
pub use ip::ip;
pub use ip_status::{ip_status_patch, read_ip_status};
pub use node::{NodeFields, instance_of, is_our_taint, node};
pub use node_report::{PROGRAMMED, UNSUPPORTED, node_report};
pub use pod::{PodFields, pod};
pub use reduced::{Fields, Kept, Reduced, Whole};
pub use replica_set::{ReplicaSetFields, replica_set, template_selector};
pub use reservation::{parent, reservation};
pub use unreadable_ip::{unreadable_ip, unreadable_ip_patch};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::DynamicObject;
use mooring_plan::names::ResourceVersion;
use mooring_plan::objects::Namespaces;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a spec's `allowedNamespaces` says.
#[must_use]
pub fn namespaces(listed: Option<&[String]>) -> Namespaces {
    Namespaces::listed(listed.into_iter().flatten().map(String::as_str))
}

/// An object that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{kind} {name} cannot be read: {problem}")]
pub struct Unreadable {
    /// Its kind.
    pub kind: &'static str,
    /// `namespace/name`, or the name alone.
    pub name: String,
    /// What is wrong with it.
    #[source]
    pub problem: Problem,
}

/// What is wrong with an object.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Every object has this, and this one does not.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// A field holds what it cannot hold.
    #[error("{field} \"{text}\" is not {wanted}")]
    Field {
        /// The field's path.
        field: &'static str,
        /// What stands there.
        text: String,
        /// What would be right.
        wanted: &'static str,
    },
    /// A part does not have the shape of its schema.
    #[error("{part} does not match its schema")]
    Shape {
        /// `spec` or `status`.
        part: &'static str,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
}

impl Problem {
    fn of(self, kind: &'static str, object: &DynamicObject) -> Unreadable {
        let name = object.metadata.name.as_deref().unwrap_or("without a name");
        let name = match &object.metadata.namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        };
        Unreadable {
            kind,
            name,
            problem: self,
        }
    }
}

fn name(meta: &ObjectMeta) -> Result<&str, Problem> {
    meta.name
        .as_deref()
        .ok_or(Problem::Missing("metadata.name"))
}

fn uid(meta: &ObjectMeta) -> Result<&str, Problem> {
    meta.uid.as_deref().ok_or(Problem::Missing("metadata.uid"))
}

/// Reads a version. The API server's are comparable decimal numbers (Kubernetes 1.35, KEP-5504).
///
/// # Errors
/// It is not a decimal number.
pub fn version(text: &str) -> Result<ResourceVersion, Problem> {
    text.parse()
        .map(ResourceVersion)
        .map_err(|_| Problem::Field {
            field: "metadata.resourceVersion",
            text: text.to_owned(),
            wanted: "a decimal number",
        })
}

fn version_of(meta: &ObjectMeta) -> Result<ResourceVersion, Problem> {
    version(
        meta.resource_version
            .as_deref()
            .ok_or(Problem::Missing("metadata.resourceVersion"))?,
    )
}

fn has_finalizer(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.finalizers
        .iter()
        .flatten()
        .any(|entry| entry == finalizer)
}

fn annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    meta.annotations.as_ref()?.get(key).map(String::as_str)
}

/// Seconds since 1970; 0 where it does not say.
fn created(meta: &ObjectMeta) -> i64 {
    let created = meta.creation_timestamp.as_ref();
    created.map_or(0, |time| time.0.as_second())
}

fn label<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    meta.labels.as_ref()?.get(key).map(String::as_str)
}

/// The controller of an object.
fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = meta.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}

/// Is it of this kind of the API group `apps`?
fn is_workload(owner: &OwnerReference, kind: &str) -> bool {
    owner.kind == kind && owner.api_version.starts_with("apps/")
}

/// A part of an object; `Ok(None)` where it is left out.
fn part<T: DeserializeOwned>(
    object: &DynamicObject,
    part: &'static str,
) -> Result<Option<T>, Problem> {
    match object.data.get(part) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => T::deserialize(value)
            .map(Some)
            .map_err(|source| Problem::Shape { part, source }),
    }
}

#[cfg(test)]
mod tests;
