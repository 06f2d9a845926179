//! The reader of the objects and rights that a verdict depends on.

use std::error::Error as StdError;
use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::admission::usage::{Subject, Use};
use mooring_plan::admission::{Denial, DenyReason};

use super::Snapshot;

/// What the cluster's authorizer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// The subject may.
    Granted,
    /// The subject may not.
    Missing,
}

/// The reader of rights.
pub trait Rights: Clone + Send + Sync + 'static {
    /// Whether this subject may make this use of an IP.
    fn right(
        &self,
        subject: &Subject,
        wanted: &Use,
    ) -> impl Future<Output = Result<Right, Unreadable>> + Send;
}

/// The longest that reading the objects again takes.
pub(super) const LIMIT: Duration = Duration::from_secs(1);

/// Which objects a verdict depends on, besides IPs and blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// The `IP` that this annotation means is read as it is now: a pod must not be given the UID of
    /// one that has been deleted and created again since.
    pub annotation: Option<String>,
    /// The UID that the mutating review gave the pod, from such a read: an `IP` that the cache shows with this UID is not
    /// read a second time.
    pub given: Option<String>,
    /// The Node that a pod is bound to beforehand.
    pub node: Option<String>,
    /// The address whose `IPAddress` object says whose it is.
    pub address: Option<Address>,
    /// The change cannot be undone: it is not allowed from a cache.
    pub irrevocable: bool,
}

/// The objects cannot be read now.
#[derive(Debug, thiserror::Error)]
#[error("reading {what}")]
pub struct Unreadable {
    /// Which objects.
    pub what: &'static str,
    /// Why not.
    pub source: Box<dyn StdError + Send + Sync>,
}

/// The reader of objects.
pub trait ClusterReader: Rights {
    /// The objects of a cache, which can be old or empty. An object that is in no cache and cannot be read in time is
    /// left out.
    fn cached(&self, dependencies: &Dependencies) -> impl Future<Output = Snapshot> + Send;

    /// As they are now.
    fn fresh(
        &self,
        dependencies: &Dependencies,
    ) -> impl Future<Output = Result<Snapshot, Unreadable>> + Send;
}

/// The refusal when something cannot be asked.
pub(super) fn unavailable(why: &str) -> Denial {
    Denial::new(
        DenyReason::Unavailable,
        format!("Mooring could not ask the API server for what it needs to decide ({why})"),
        "try again in a moment",
    )
}
