//! The refusals of the API server, as a `Status`.

use serde_json::{Value, json};

use super::kinds::Kind;

/// A request that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP code.
    pub code: u16,
    /// The reason, in one word. Empty: none.
    pub reason: &'static str,
    /// The message.
    pub message: String,
    /// The details: the object of the request.
    pub details: Value,
    /// A continue token with which a list can continue in spite of the error.
    pub(super) next: Option<String>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.code, self.reason, self.message)
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    pub(super) fn new(code: u16, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason(code),
            message: message.into(),
            details: Value::Null,
            next: None,
        }
    }

    /// Sets the details: a resource or a kind, with its group.
    fn about(mut self, what: &str, group: &str, name: &str) -> Self {
        self.details = json!({"kind": what});
        for (field, text) in [("name", name), ("group", group)] {
            if !text.is_empty() {
                self.details[field] = json!(text);
            }
        }
        self
    }

    pub(super) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", kind.resource());
        Self::new(404, message).about(kind.plural, kind.group, name)
    }

    /// The path does not exist.
    pub(super) fn nowhere() -> Self {
        let refusal = Self::new(404, "the server could not find the requested resource");
        Self {
            details: json!({}),
            ..refusal
        }
    }

    pub(super) fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", kind.resource());
        let refusal = Self::new(409, message).about(kind.plural, kind.group, name);
        Self {
            reason: "AlreadyExists",
            ..refusal
        }
    }

    pub(super) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        conflict(&kind.resource(), name, why).about(kind.plural, kind.group, name)
    }

    /// Sets a subresource, such as `pods/binding`.
    pub(super) fn conflict_on(what: &str, name: &str, why: &str) -> Self {
        conflict(what, name, why).about(what, "", name)
    }

    /// The form of a delete.
    pub(super) fn conflict_on_kind(kind: &Kind, name: &str, why: &str) -> Self {
        conflict(&kind.full_name(), name, why).about(kind.name, kind.group, name)
    }

    /// A conflict: the version is not the newest.
    pub(super) fn stale(kind: &Kind, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    pub(super) fn invalid(kind: &Kind, name: &str, field: &str, why: &str) -> Self {
        invalid(&kind.full_name(), name, field, why).about(kind.name, kind.group, name)
    }

    /// The message before the object is read.
    pub(super) fn invalid_resource(kind: &Kind, name: &str, field: &str, why: &str) -> Self {
        invalid(&kind.resource(), name, field, why).about(kind.plural, kind.group, name)
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    /// A version that is no longer known.
    pub(super) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, message)
    }

    pub(super) fn with_continue(mut self, next: String) -> Self {
        self.next = Some(next);
        self
    }

    /// A version that does not exist yet.
    pub(super) fn too_large(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        let mut refusal = Self::new(504, message.clone());
        refusal.message = format!("Timeout: {message}");
        refusal.details = json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        });
        refusal
    }

    /// The refusal in the format of the API.
    #[must_use]
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if let Some(next) = &self.next {
            status["metadata"]["continue"] = json!(next);
        }
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}

fn conflict(what: &str, name: &str, why: &str) -> Refusal {
    let message = format!("Operation cannot be fulfilled on {what} \"{name}\": {why}");
    Refusal::new(409, message)
}

fn invalid(what: &str, name: &str, field: &str, why: &str) -> Refusal {
    Refusal::new(422, format!("{what} \"{name}\" is invalid: {field}: {why}"))
}

/// The reason for an HTTP code.
const fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        409 => "Conflict",
        410 => "Expired",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "Unknown",
    }
}
