//! The admission webhook: review in, verdict out, and the server around it.
//!
//! A verdict is a pure function of the request and of a [`Catalog`] of other objects. Where a cached
//! catalog leads to a refusal, the objects are read again before it is final.

mod authorize;
mod caches;
pub mod catalog;
mod cluster_reader;
mod envelope;
pub mod http;
pub mod ip;
pub mod ipblock;
mod json_object;
mod judge;
mod live;
pub mod pod;
mod request;
pub mod review;
mod room;
mod server;
mod shared;
#[cfg(test)]
mod tests;
mod verdict;

pub use caches::{Caches, caches};
pub use catalog::{Catalog, NodeSeen};
pub use cluster_reader::{Needs, Right, Rights, Source, Unreadable};
pub use http::{PATHS, Webhook, router};
pub use live::Live;
pub use request::{Change, Request};
pub use server::{Seats, serve};
pub use verdict::{Allowed, Verdict};

/// What the API server's own admission is configured to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `--default-not-ready-toleration-seconds` of kube-apiserver (default 300): a toleration of this
    /// length is the plugin's and not the user's.
    pub default_toleration_seconds: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            default_toleration_seconds: 300,
        }
    }
}
