//! From what a cache says to a verdict that does not depend on how old it was.

use super::cluster_reader::{LIMIT, Needs, Source, unavailable};
use super::{Catalog, Verdict};

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
