//! Asks the authorizer of the cluster.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Resource as _;
use kube::api::{Api, PostParams};
use mooring_plan::admission::usage::{Subject, Use};

use super::KubeReader;
use crate::admission::{Right, Rights, Unreadable};
use crate::api::{Ip, names};

impl Rights for KubeReader {
    async fn right(&self, subject: &Subject, wanted: &Use) -> Result<Right, Unreadable> {
        let unreadable = |source| Unreadable {
            what: "the right to use the IP",
            source,
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let asked = SubjectAccessReview {
            spec: asked(subject, wanted),
            ..SubjectAccessReview::default()
        };
        let _turn = self.turns.acquire().await;
        let review = reviews.create(&PostParams::default(), &asked).await;
        let review = review.map_err(|error| unreadable(error.into()))?.status;
        let review =
            review.ok_or_else(|| unreadable("the review came back without a status".into()))?;
        if let Some(error) = review.evaluation_error {
            // The answer can still be right: for example, a binding to a role that does not exist causes such an error.
            tracing::info!(error, "not every rule on the use of an IP could be read");
        }
        // `denied` occurs only with `allowed: false`. It means only that no other authorizer was asked.
        Ok(if review.allowed {
            Right::Granted
        } else {
            Right::Missing
        })
    }
}

/// The review for this use. An `IP` has no namespace, so the namespace of the pod is used: then a `RoleBinding` in that
/// namespace is enough, and gives no right elsewhere.
fn asked(subject: &Subject, wanted: &Use) -> SubjectAccessReviewSpec {
    let Subject {
        user,
        uid,
        groups,
        extra,
    } = subject.clone();
    SubjectAccessReviewSpec {
        user: Some(user),
        uid: (!uid.is_empty()).then_some(uid),
        groups: Some(groups),
        extra: Some(extra),
        resource_attributes: Some(ResourceAttributes {
            namespace: Some(wanted.namespace().to_owned()),
            group: Some(names::GROUP.to_owned()),
            version: Some(names::VERSION.to_owned()),
            resource: Some(Ip::plural(&()).into_owned()),
            name: Some(wanted.ip.as_str().to_owned()),
            verb: Some("use".to_owned()),
            ..ResourceAttributes::default()
        }),
        ..SubjectAccessReviewSpec::default()
    }
}
