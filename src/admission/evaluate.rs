//! Verdicts that do not depend on the age of a cache.
//! Rule: R8.23.

use super::cluster_reader::{ClusterReader, Dependencies, LIMIT, unavailable};
use super::{Snapshot, Verdict};

/// Evaluates a rule on the cache. A refusal because of other objects is evaluated again on the objects as they are now,
/// and a change that cannot be undone on those alone. What the request alone is refused for causes no read.
pub(super) async fn evaluate<S: ClusterReader>(
    source: &S,
    dependencies: &Dependencies,
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
    match tokio::time::timeout(LIMIT, source.fresh(dependencies)).await {
        Ok(Ok(snapshot)) => rule(&snapshot),
        Ok(Err(error)) => Err(unavailable(&crate::telemetry::chain(&error))),
        Err(_) => Err(unavailable(&format!("no answer within {LIMIT:?}"))),
    }
}
