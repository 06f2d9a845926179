//! Where a verdict's objects and rights come from.

use std::error::Error as StdError;
use std::net::Ipv4Addr;
use std::time::Duration;

use mooring_plan::admission::usage::{Subject, Use};
use mooring_plan::admission::{Because, Denial};

use super::Catalog;

/// What the cluster's authorizer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// He may.
    Granted,
    /// He may not.
    Missing,
}

/// Where it is known who may do what.
pub trait Rights: Clone + Send + Sync + 'static {
    /// Whether this subject may make this use of an IP.
    fn right(
        &self,
        subject: &Subject,
        wanted: &Use,
    ) -> impl Future<Output = Result<Right, Unreadable>> + Send;
}

/// How long reading the objects again may take.
pub(super) const LIMIT: Duration = Duration::from_secs(1);

/// Which objects a verdict depends on, besides IPs and blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The `IP` that this annotation means is read as it is now: a pod must not be given the UID of
    /// one that has been deleted and created again since.
    pub annotation: Option<String>,
    /// The Node that a pod is bound to beforehand.
    pub node: Option<String>,
    /// The address whose `IPAddress` object says whose it is.
    pub address: Option<Ipv4Addr>,
    /// What is allowed cannot be taken back: no cache is old enough to allow it.
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

/// Where the objects come from.
pub trait Source: Rights {
    /// As a cache has them, which may be old or empty. What a cache does not have, and cannot be read
    /// in time, is left out.
    fn cached(&self, needs: &Needs) -> impl Future<Output = Catalog> + Send;

    /// As they are now.
    fn fresh(&self, needs: &Needs) -> impl Future<Output = Result<Catalog, Unreadable>> + Send;
}

/// The refusal when something cannot be asked.
pub(super) fn unavailable(why: &str) -> Denial {
    Denial::new(
        Because::Unavailable,
        format!("Mooring could not ask the API server for what it needs to decide ({why})"),
        "try again in a moment",
    )
}
