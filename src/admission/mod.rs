//! The admission webhook: review in, verdict out, and the server around it.
//!
//! A verdict is a pure function of the request and of a [`Snapshot`] of other objects. If a cached
//! snapshot leads to a refusal, the objects are read again before the refusal is final.

mod authorize;
mod caches;
mod cluster_reader;
mod envelope;
mod evaluate;
pub mod http;
pub mod ip;
pub mod ipblock;
mod json_object;
mod known_ip;
mod known_objects;
mod kube_reader;
mod load_shed;
pub mod pod;
mod request;
pub mod review;
mod server;
mod single_flight;
pub mod snapshot;
#[cfg(test)]
mod tests;
mod verdict;

pub use caches::Caches;
pub use cluster_reader::{ClusterReader, Dependencies, Right, Rights, Unreadable};
pub use http::{PATHS, Webhook, router};
pub use known_ip::KnownIp;
pub use kube_reader::KubeReader;
pub use request::{Operation, Request};
pub use server::{ConnectionLimit, End, serve};
pub use snapshot::{BoundNode, Snapshot};
pub use verdict::{Allowed, Verdict};

use mooring_plan::admission::tolerations::Defaults;

/// The configuration of the admission plugins of the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PluginSettings {
    /// A toleration with one of these durations comes from the plugin `DefaultTolerationSeconds`, not from the user.
    pub default_tolerations: Defaults,
}
