//! Reviews: from the API server's bytes to a request, and from a verdict to the answer.

use k8s_openapi::api::authentication::v1::UserInfo;
use kube::core::admission::{AdmissionResponse, AdmissionReview};
use kube::core::response::StatusSummary;
use kube::core::{DynamicObject, Status};
use mooring_plan::admission::usage::{Requester, Subject};
use mooring_plan::admission::{Because, Denial};
use serde::de::{Deserialize as _, DeserializeOwned};
use serde_json::Value;

use super::Verdict;

/// What is to be done with an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<K> {
    /// It is new.
    Create(K),
    /// It is there and is to be changed.
    Update {
        /// As it is.
        old: K,
        /// As it is to be.
        new: K,
    },
    /// It is to go.
    Delete(K),
}

/// A request for a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Request<K> {
    /// The review's own id, which the answer repeats.
    pub uid: String,
    /// The object's namespace; empty if it has none.
    pub namespace: String,
    /// Who wants it.
    pub requester: Requester,
    /// What is to be done.
    pub change: Change<K>,
}

/// A body that is no review of such an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The review's id, as far as one could be found.
    pub uid: String,
    /// What the client is told.
    pub denial: Denial,
}

/// The id of the review that these bytes are, as far as one can be found.
#[must_use]
pub fn uid_of(body: &[u8]) -> String {
    let review: Value = serde_json::from_slice(body).unwrap_or_default();
    let uid = review.pointer("/request/uid").and_then(Value::as_str);
    uid.unwrap_or_default().to_owned()
}

/// What is answered where deciding panicked: that one request is refused, and no other.
#[must_use]
pub fn fault() -> Denial {
    Denial::new(
        Because::Fault,
        "Mooring failed to decide, by a fault of its own",
        "report it with the webhook's log, which says where it was",
    )
}

/// Reads a review. The id is looked for first, so that even a refusal to read the rest is an answer
/// to the question that was asked.
///
/// # Errors
/// The body is not JSON, no review, or its object is not of this kind.
pub fn read<K: DeserializeOwned>(body: &[u8]) -> Result<Request<K>, Malformed> {
    let bad = |uid: &str, what: String| Malformed {
        uid: uid.to_owned(),
        denial: Denial::new(
            Because::BadRequest,
            what,
            "send an AdmissionReview of admission.k8s.io/v1: is the webhook configuration that of this version of \
             Mooring?",
        ),
    };
    let review: Value = serde_json::from_slice(body)
        .map_err(|error| bad("", format!("the review cannot be read as JSON ({error})")))?;
    let Some(request) = review.get("request").filter(|request| request.is_object()) else {
        return Err(bad("", "the review has no request".to_owned()));
    };
    let text = |field: &str| {
        request
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let uid = text("uid");
    let object = |field: &'static str| -> Result<K, Malformed> {
        let value = request.get(field).unwrap_or(&Value::Null);
        K::deserialize(value)
            .map_err(|error| bad(&uid, format!("request.{field} cannot be read ({error})")))
    };
    let requester = match request.get("userInfo") {
        None => Requester::default(),
        Some(user) => UserInfo::deserialize(user)
            .map(requester)
            .map_err(|error| bad(&uid, format!("request.userInfo cannot be read ({error})")))?,
    };
    let change = match text("operation").as_str() {
        "CREATE" => Change::Create(object("object")?),
        "UPDATE" => Change::Update {
            old: object("oldObject")?,
            new: object("object")?,
        },
        "DELETE" => Change::Delete(object("oldObject")?),
        other => return Err(bad(&uid, format!("request.operation is \"{other}\""))),
    };
    let namespace = text("namespace");
    Ok(Request {
        uid,
        namespace,
        requester,
        change,
    })
}

fn requester(user: UserInfo) -> Requester {
    Requester(Subject {
        user: user.username.unwrap_or_default(),
        uid: user.uid.unwrap_or_default(),
        groups: user.groups.unwrap_or_default(),
        extra: user.extra.unwrap_or_default(),
    })
}

/// The answer to the review with this id.
#[must_use]
pub fn answer(uid: &str, verdict: &Verdict) -> AdmissionReview<DynamicObject> {
    let mut response = AdmissionResponse::invalid("");
    uid.clone_into(&mut response.uid);
    match verdict {
        Ok(allowed) => {
            response.allowed = true;
            response.result = Status::default();
            if !allowed.warnings.is_empty() {
                response.warnings = Some(allowed.warnings.clone());
            }
            if !allowed.patch.0.is_empty() {
                response = match response.clone().with_patch(allowed.patch.clone()) {
                    Ok(patched) => patched,
                    Err(error) => refused(response, &unwritable(&error)),
                };
            }
        }
        Err(denial) => response = refused(response, denial),
    }
    response.into_review()
}

fn refused(mut response: AdmissionResponse, denial: &Denial) -> AdmissionResponse {
    response.allowed = false;
    response.result = Status {
        status: Some(StatusSummary::Failure),
        code: denial.because().code(),
        reason: denial.because().reason().to_owned(),
        message: denial.to_string(),
        ..Status::default()
    };
    response
}

fn unwritable(error: &dyn std::error::Error) -> Denial {
    Denial::new(
        Because::Unavailable,
        format!("the changes to the object cannot be written ({error})"),
        "report this as a fault of Mooring",
    )
}
