//! The reader from Kubernetes objects to the types of `plan`, and the writer of their status. The records of the webhook
//! (`admission/known_ip.rs`) and of the node part (`node/read.rs`) are read apart: they keep only a few fields.
//!
//! The input is a [`DynamicObject`], so that an object that does not match its schema is refused alone and by name, and
//! does not end a watch. An object that cannot be read never counts as absent. Objects of the API server are parsed as
//! [`Reduced`]: without the fields that are not used.

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
pub use reduced::{FieldMask, Fields, Reduced, Whole};
pub use replica_set::{ReplicaSetFields, replica_set, template_selector};
pub use reservation::{parent, reservation};
pub use unreadable_ip::{unreadable_ip, unreadable_ip_patch};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::DynamicObject;
use mooring_plan::names::ResourceVersion;
use mooring_plan::objects::Namespaces;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads `allowedNamespaces` of a spec.
#[must_use]
pub fn namespaces(listed: Option<&[String]>) -> Namespaces {
    Namespaces::listed(listed.into_iter().flatten().map(String::as_str))
}

/// An object cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{kind} {name} cannot be read: {problem}")]
pub struct Unreadable {
    /// Its kind.
    pub kind: &'static str,
    /// `namespace/name`, or the name alone.
    pub name: String,
    /// Why it cannot be read.
    #[source]
    pub problem: Problem,
}

/// Why an object cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A field that every object must have is missing.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// A field has an impossible value.
    #[error("{field} \"{text}\" is not {wanted}")]
    Field {
        /// The path of the field.
        field: &'static str,
        /// The value.
        text: String,
        /// A description of valid values.
        wanted: &'static str,
    },
    /// A part of the object does not match its schema.
    #[error("{part} does not match its schema")]
    Shape {
        /// `spec` or `status`.
        part: &'static str,
        /// The position and the cause.
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

/// Parses a resourceVersion, which is a comparable decimal number (Kubernetes 1.35, KEP-5504).
///
/// # Errors
/// The text is not a decimal number.
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

/// Seconds since 1970. 0: the time is missing.
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

/// Whether the reference is of this kind of the API group `apps`.
fn is_workload(owner: &OwnerReference, kind: &str) -> bool {
    owner.kind == kind && owner.api_version.starts_with("apps/")
}

/// Reads the spec of an object. `Err` is a message that says what to write; `give` says it of a spec that is missing.
fn spec<S: DeserializeOwned, T, E: ToString>(
    object: &DynamicObject,
    give: &str,
    read: fn(&S) -> Result<T, E>,
) -> Result<T, String> {
    match part::<S>(object, "spec") {
        Ok(Some(spec)) => read(&spec).map_err(|error| error.to_string()),
        Ok(None) => Err(format!("the spec is missing: {give}")),
        Err(Problem::Shape { source, .. }) => {
            Err(format!("the spec cannot be read: {source}: correct it"))
        }
        Err(problem) => Err(problem.to_string()),
    }
}

/// Parses a part of an object. `Ok(None)`: it is left out.
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
