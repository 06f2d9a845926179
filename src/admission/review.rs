//! Parses reviews of the API server, and builds the answer from a verdict.

use std::fmt::Display;

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use kube::core::admission::{AdmissionResponse, AdmissionReview};
use kube::core::response::StatusSummary;
use kube::core::{DynamicObject, Status};
use mooring_plan::admission::usage::{Requester, Subject};
use mooring_plan::admission::{Denial, DenyReason};
use serde::de::DeserializeOwned;

use super::envelope::{Contents, Head, UnreadableField};
use super::json_object::Object;
use super::load_shed::{VALUES, values};
use super::pod::PartialPod;
use super::request::{Operation, Request};
use super::{Allowed, Verdict};
use crate::api::{Ip, IpBlock};

/// The body is not a review of an object of this kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The id of the review. Empty if none was found.
    pub uid: String,
    /// The refusal that the client receives.
    pub denial: Denial,
}

/// A kind of object that reviews are made for.
pub trait Reviewed: Resource<DynamicType = ()> + Sized {
    /// The part of the object that is parsed.
    type Partial: DeserializeOwned + Into<Self>;
}

impl Reviewed for Pod {
    type Partial = Object<PartialPod>;
}

impl Reviewed for Ip {
    type Partial = Self;
}

impl Reviewed for IpBlock {
    type Partial = Self;
}

/// The id of the review in this body. Empty if none is found.
#[must_use]
pub fn uid_of(body: &[u8]) -> String {
    let head = str::from_utf8(body).map(Head::read);
    match head {
        Ok(Ok(head)) => head.uid,
        _ => String::new(),
    }
}

/// The refusal after a panic in a rule. Only that one request is refused.
#[must_use]
pub fn fault() -> Denial {
    Denial::new(
        DenyReason::Fault,
        "Mooring failed to decide because of an internal error",
        "report it with the log of the webhook, which names the place in the code",
    )
}

/// Parses a review. The id is parsed first, so that an error in the rest is answered with the id of the review.
///
/// # Errors
/// The body is not JSON or not a review, it has too many values, or its object is not of this kind.
pub fn read<K: Reviewed>(body: &[u8]) -> Result<Request<K>, Malformed> {
    let (text, head) = match str::from_utf8(body) {
        Ok(text) => (text, Head::read(text).map_err(|error| unread(&error))),
        Err(error) => ("", Err(not_json(&error))),
    };
    let (uid, head) = match head {
        Ok(head) => (head.uid, Ok(head.operation)),
        Err(denial) => (String::new(), Err(denial)),
    };
    let too_many = (values(body) > VALUES).then(too_many_values);
    let request = match (too_many, head) {
        (Some(denial), _) | (None, Err(denial)) => Err(denial),
        (None, Ok(operation)) => request(text, &uid, &operation),
    };
    request.map_err(|denial| Malformed { uid, denial })
}

fn request<K: Reviewed>(text: &str, uid: &str, operation: &str) -> Result<Request<K>, Denial> {
    let contents: Contents<K::Partial> = Contents::read(text, operation)
        .map_err(|UnreadableField { field, error }| unreadable(field, &error))?;
    let (object, old) = (contents.object, contents.old_object);
    let object = || there(object, "object");
    let old = || there(old, "oldObject");
    let operation = match contents.operation.as_str() {
        "CREATE" => Operation::Create(object()?),
        "UPDATE" => Operation::Update {
            old: old()?,
            new: object()?,
        },
        "DELETE" => Operation::Delete(old()?),
        other => return Err(bad(format!("request.operation is \"{other}\""))),
    };
    Ok(Request {
        uid: uid.to_owned(),
        namespace: contents.namespace,
        requester: contents.user.map(requester).unwrap_or_default(),
        operation,
    })
}

fn there<S: Into<K>, K>(object: Option<S>, field: &str) -> Result<K, Denial> {
    let object = object.ok_or_else(|| unreadable(field, &"there is none"))?;
    Ok(object.into())
}

fn too_many_values() -> Denial {
    Denial::new(
        DenyReason::BadRequest,
        format!("the review has more than {VALUES} values"),
        "make the object smaller: it has too many fields",
    )
}

fn unread(error: &serde_json::Error) -> Denial {
    // A review that is valid JSON can have only one error here: it has no request.
    if error.is_data() {
        bad("the review has no request".to_owned())
    } else {
        not_json(error)
    }
}

fn not_json(error: &dyn Display) -> Denial {
    bad(format!("the review cannot be read as JSON ({error})"))
}

fn unreadable(field: &str, error: &dyn Display) -> Denial {
    bad(format!("request.{field} cannot be read ({error})"))
}

fn bad(what: String) -> Denial {
    Denial::new(
        DenyReason::BadRequest,
        what,
        "send an AdmissionReview of admission.k8s.io/v1: is the webhook configuration that of this version of Mooring?",
    )
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
pub fn answer(uid: String, verdict: Verdict) -> AdmissionReview<DynamicObject> {
    let mut response = AdmissionResponse::invalid("");
    response.uid = uid;
    let response = match verdict {
        Ok(allowed) => allow(response, allowed),
        Err(denial) => refused(response, &denial),
    };
    response.into_review()
}

fn allow(mut response: AdmissionResponse, allowed: Allowed) -> AdmissionResponse {
    response.allowed = true;
    response.result = Status::default();
    // The API server adds the name of the webhook as a prefix of the key.
    let granted = allowed
        .granted
        .map(|address| ("granted".to_owned(), address));
    response.audit_annotations.extend(granted);
    response.warnings = (!allowed.warnings.is_empty()).then_some(allowed.warnings);
    if allowed.patch.0.is_empty() {
        return response;
    }
    let uid = response.uid.clone();
    response.with_patch(allowed.patch).unwrap_or_else(|error| {
        let mut unpatched = AdmissionResponse::invalid("");
        unpatched.uid = uid;
        refused(unpatched, &unwritable(&error))
    })
}

fn refused(mut response: AdmissionResponse, denial: &Denial) -> AdmissionResponse {
    response.allowed = false;
    response.result = Status {
        status: Some(StatusSummary::Failure),
        code: denial.reason().code(),
        reason: denial.reason().reason().to_owned(),
        message: denial.to_string(),
        ..Status::default()
    };
    response
}

fn unwritable(error: &dyn std::error::Error) -> Denial {
    Denial::new(
        DenyReason::Unavailable,
        format!("the changes to the object cannot be written ({error})"),
        "report this as a bug of Mooring",
    )
}
