//! Reviews: from the API server's bytes to a request, and from a verdict to the answer.

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::core::v1::Pod;
use kube::core::admission::{AdmissionResponse, AdmissionReview};
use kube::core::response::StatusSummary;
use kube::core::{DynamicObject, Status};
use mooring_plan::admission::usage::{Requester, Subject};
use mooring_plan::admission::{Because, Denial};
use serde::de::{DeserializeOwned, IgnoredAny};

use super::Verdict;
use super::part::{Object, Text, part};
use super::pod::SeenPod;
use super::room::{VALUES, values};
use crate::api::{Ip, IpBlock};

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

/// What a review may be about.
pub trait Reviewed: Sized {
    /// As much of it as is read.
    type Seen: DeserializeOwned + Into<Self>;
}

impl Reviewed for Pod {
    type Seen = Object<SeenPod>;
}

impl Reviewed for Ip {
    type Seen = Self;
}

impl Reviewed for IpBlock {
    type Seen = Self;
}

/// The id of the review that these bytes are, as far as one can be found.
#[must_use]
pub fn uid_of(body: &[u8]) -> String {
    let body = str::from_utf8(body).unwrap_or_default();
    let uid = part::<Text>(body, &["request", "uid"]);
    uid.ok().flatten().unwrap_or_default().0
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
/// The body is not JSON, no review, too large when read, or its object is not of this kind.
pub fn read<K: Reviewed>(body: &[u8]) -> Result<Request<K>, Malformed> {
    let uid = uid_of(body);
    if values(body) > VALUES {
        return Err(Malformed {
            uid,
            denial: Denial::new(
                Because::BadRequest,
                format!("the review has more than {VALUES} values"),
                "make the object smaller: nothing that runs needs so many fields",
            ),
        });
    }
    let bad = |what: String| Malformed {
        uid: uid.clone(),
        denial: Denial::new(
            Because::BadRequest,
            what,
            "send an AdmissionReview of admission.k8s.io/v1: is the webhook configuration that of this version of \
             Mooring?",
        ),
    };
    // What is passed over is not looked at so closely.
    let body = str::from_utf8(body)
        .map_err(|error| bad(format!("the review cannot be read as JSON ({error})")))?;
    match part::<IgnoredAny>(body, &["request", "uid"]) {
        Ok(_) => {}
        Err(error) if !error.is_data() => {
            return Err(bad(format!("the review cannot be read as JSON ({error})")));
        }
        Err(_) => return Err(bad("the review has no request".to_owned())),
    }
    let unread = |field: &'static str| {
        move |error: serde_json::Error| bad(format!("request.{field} cannot be read ({error})"))
    };
    let text = |field: &'static str| {
        let text = part::<String>(body, &["request", field]).map_err(unread(field))?;
        Ok(text.unwrap_or_default())
    };
    let object = |field: &'static str| {
        let object = part::<K::Seen>(body, &["request", field]).map_err(unread(field))?;
        let object =
            object.ok_or_else(|| bad(format!("request.{field} cannot be read (there is none)")))?;
        Ok(object.into())
    };
    let user = part::<UserInfo>(body, &["request", "userInfo"]).map_err(unread("userInfo"))?;
    let (operation, namespace) = (text("operation")?, text("namespace")?);
    let change = match operation.as_str() {
        "CREATE" => Change::Create(object("object")?),
        "UPDATE" => Change::Update {
            old: object("oldObject")?,
            new: object("object")?,
        },
        "DELETE" => Change::Delete(object("oldObject")?),
        other => return Err(bad(format!("request.operation is \"{other}\""))),
    };
    Ok(Request {
        uid,
        namespace,
        requester: user.map(requester).unwrap_or_default(),
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
            // The API server puts the webhook's name before the key.
            if let Some(granted) = &allowed.granted {
                response
                    .audit_annotations
                    .insert("granted".to_owned(), granted.clone());
            }
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
