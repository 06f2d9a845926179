//! The interface through which verdicts read objects and rights.

use std::error::Error as StdError;
use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::admission::usage::{Subject, Use};
use mooring_plan::admission::{Denial, DenyReason};

use super::Snapshot;

/// The answer of the authorizer of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// The subject has the right.
    Granted,
    /// The subject does not have the right.
    Missing,
}

/// Reads rights.
pub trait Rights: Clone + Send + Sync + 'static {
    /// Whether this subject may use the IP in this way.
    fn right(
        &self,
        subject: &Subject,
        wanted: &Use,
    ) -> impl Future<Output = Result<Right, Unreadable>> + Send;
}

/// Time limit of a read of one object, and of a question about a right. A review of a pod can take three times as long:
/// with its cached objects, its fresh ones and the right. That is less than the time limit of the whole review.
pub(super) const READ_TIMEOUT: Duration = Duration::from_millis(900);
/// Time limit of a fresh read of all IPs and blocks. No right is checked after it.
const LISTS: Duration = Duration::from_millis(1900);
/// Time limit of that read for a change that cannot be undone. No cached objects are read before it, so more time is left.
const IRREVOCABLE: Duration = Duration::from_millis(2500);

/// The objects on which a verdict depends, in addition to IPs and blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// The `IP` that this annotation means is read from the API server: a pod must not get the UID of an IP that was
    /// deleted and created again since.
    pub annotation: Option<String>,
    /// The UID that the mutating review wrote into the pod, from such a read. If the cache shows the `IP` with this
    /// UID, it is not read a second time.
    pub given: Option<String>,
    /// The Node that the new pod is already bound to (`spec.nodeName`).
    pub node: Option<String>,
    /// The address whose `IPAddress` object shows the owner of the address.
    pub address: Option<Address>,
    /// The change cannot be undone, so a cache is not enough to allow it.
    pub irrevocable: bool,
}

impl Dependencies {
    /// Time limit of the fresh read of the objects.
    pub(super) const fn limit(&self) -> Duration {
        match (&self.annotation, self.irrevocable) {
            (_, true) => IRREVOCABLE,
            (Some(_), false) => READ_TIMEOUT,
            (None, false) => LISTS,
        }
    }
}

/// The objects cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("reading {what}")]
pub struct Unreadable {
    /// The objects that were read, in words.
    pub what: &'static str,
    /// The error of the read.
    pub source: Box<dyn StdError + Send + Sync>,
}

/// Reads objects.
pub trait ClusterReader: Rights {
    /// The objects from the caches, which can be old or empty. An object that is in no cache and cannot be read in time
    /// is left out.
    fn cached(&self, dependencies: &Dependencies) -> impl Future<Output = Snapshot> + Send;

    /// The objects as the API server has them now.
    fn fresh(
        &self,
        dependencies: &Dependencies,
    ) -> impl Future<Output = Result<Snapshot, Unreadable>> + Send;
}

/// The refusal when the API server does not answer a read or a question.
pub(super) fn unavailable(why: &str) -> Denial {
    Denial::new(
        DenyReason::Unavailable,
        format!("Mooring could not read from the API server what it needs to decide ({why})"),
        "try again in a moment",
    )
}

/// The refusal when the fresh read takes too long. `called` is the object of the review.
pub(super) fn late(called: &str, dependencies: &Dependencies) -> Denial {
    let limit = dependencies.limit();
    let annotation = dependencies.annotation.as_ref();
    let (what, way_out) = match annotation {
        Some(annotation) if annotation.parse::<Address>().is_err() => {
            (format!("IP \"{annotation}\""), "try again in a moment")
        }
        _ => (
            annotation.map_or_else(
                || "all IPs and IPBlocks".to_owned(),
                |address| format!("all IPs, if no IPAddress names the owner of {address}"),
            ),
            "try again when the API server has less load: \
             time kubectl get --raw '/apis/ip.wgtwo.com/v1alpha1/ips?limit=500' shows how long it needs for 500 IPs",
        ),
    };
    Denial::new(
        DenyReason::Unavailable,
        format!(
            "Mooring could not decide on {called}: it reads {what}, and had no answer within {limit:?}"
        ),
        way_out,
    )
}
