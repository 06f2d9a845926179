//! Checks whether the user who creates a pod, or the service account of the pod, may use the IP (`--authorize-use`).
//! Rules: R8.19, R8.21, R8.22.
//!
//! Only the validating review makes this check. No pod is stored without that review, it sees the final account and
//! annotation (after all mutating webhooks), and it comes once for each pod, so there is one `SubjectAccessReview` for
//! each pod. The check is the last one, so that a user in a namespace that may not use an IP cannot find out that
//! the IP exists.

use mooring_plan::admission::usage::{Requester, TrustedControllers};
use tokio::time::timeout;

use super::cluster_reader::{ClusterReader, READ_TIMEOUT, Right, unavailable};
use super::{Allowed, Verdict};
use crate::telemetry::chain;

/// Allows the use of an IP only if the responsible subject has the right. Without `--authorize-use` it allows all.
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
    match timeout(READ_TIMEOUT, source.right(&subject, wanted)).await {
        Ok(Ok(Right::Granted)) => Ok(allowed),
        Ok(Ok(Right::Missing)) => Err(wanted.refused(&subject)),
        Ok(Err(error)) => Err(unavailable(&chain(&error))),
        Err(_) => Err(unavailable(&format!("no answer within {READ_TIMEOUT:?}"))),
    }
}
