//! From what a cache says to a verdict that does not depend on how old it was.

use std::error::Error as StdError;
use std::net::Ipv4Addr;
use std::time::Duration;

use mooring_plan::admission::{Because, Denial};

use super::{Catalog, Rights, Verdict};

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

/// Takes the verdict from the cache; a refusal that other objects are the reason for is taken again
/// from what they are now, and what cannot be taken back is allowed from that alone.
pub(super) async fn judge<S: Source>(
    source: &S,
    needs: &Needs,
    rule: impl Fn(&Catalog) -> Verdict + Send + Sync,
) -> Verdict {
    if !needs.irrevocable {
        match rule(&source.cached(needs).await) {
            Err(denial) if denial.is_hearsay() => {}
            verdict => return verdict,
        }
    }
    match tokio::time::timeout(LIMIT, source.fresh(needs)).await {
        Ok(Ok(catalog)) => rule(&catalog),
        Ok(Err(error)) => Err(unavailable(&crate::telemetry::chain(&error))),
        Err(_) => Err(unavailable(&format!("no answer within {LIMIT:?}"))),
    }
}
