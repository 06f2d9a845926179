//! Whether the user who creates a pod, or the pod's service account, may use its IP (`--authorize-use`).
//! Rules: R8.19, R8.21, R8.22.
//!
//! It is asked in the validating review alone. No object is stored without that review, it sees the account and the
//! annotation that the pod is stored with, whatever other webhooks made of them, and it comes once: one question a
//! pod. It is asked last, so that whose namespace may not have an IP still cannot find out that there is one.

use mooring_plan::admission::usage::{Requester, TrustedControllers};
use tokio::time::timeout;

use super::cluster_reader::{ClusterReader, LIMIT, Right, unavailable};
use super::{Allowed, Verdict};
use crate::telemetry::chain;

/// Allows the use of an IP only if the responsible subject has the right. Without `--authorize-use` nothing is asked.
pub(super) async fn authorize<S: ClusterReader>(
    source: &S,
    trusted: Option<&TrustedControllers>,
    requester: &Requester,
    allowed: Allowed,
) -> Verdict {
    let (Some(trusted), Some(wanted)) = (trusted, &allowed.uses) else {
        return Ok(allowed);
    };
    let subject = wanted.subject(requester, trusted);
    match timeout(LIMIT, source.right(&subject, wanted)).await {
        Ok(Ok(Right::Granted)) => Ok(allowed),
        Ok(Ok(Right::Missing)) => Err(wanted.refused(&subject)),
        Ok(Err(error)) => Err(unavailable(&chain(&error))),
        Err(_) => Err(unavailable(&format!("no answer within {LIMIT:?}"))),
    }
}
