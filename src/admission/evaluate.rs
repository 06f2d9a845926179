//! Evaluates rules so that the verdict does not depend on the age of a cache.
//! Rule: R8.23.

use super::cluster_reader::{ClusterReader, Dependencies, late, unavailable};
use super::{Snapshot, Verdict};

/// Evaluates a rule on the cache. If it refuses because of other objects, it is evaluated again on objects that are
/// read from the API server. A change that cannot be undone is evaluated only on those. A refusal that depends on the
/// request alone causes no read. `called` is the object of the review, for a message.
pub(super) async fn evaluate<S: ClusterReader>(
    source: &S,
    dependencies: &Dependencies,
    called: impl Fn() -> String + Send + Sync,
    rule: impl Fn(&Snapshot) -> Verdict + Send + Sync,
) -> Verdict {
    if *dependencies != Dependencies::default()
        && let Err(denial) = rule(&Snapshot::default())
        && !denial.is_from_cache()
    {
        return Err(denial);
    }
    if !dependencies.irrevocable {
        match rule(&source.cached(dependencies).await) {
            Err(denial) if denial.is_from_cache() => {}
            verdict => return verdict,
        }
    }
    match tokio::time::timeout(dependencies.limit(), source.fresh(dependencies)).await {
        Ok(Ok(snapshot)) => rule(&snapshot),
        Ok(Err(error)) => Err(unavailable(&crate::telemetry::chain(&error))),
        Err(_) => Err(late(&called(), dependencies)),
    }
}
