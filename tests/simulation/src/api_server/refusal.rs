//! What the API server says when it does not do something: a `Status`.

use serde_json::{Value, json};

use super::kinds::Kind;

/// A request that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP code.
    pub code: u16,
    /// One word, for programs.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// What it is about.
    pub details: Value,
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
        }
    }

    fn about(mut self, kind: &Kind, name: &str) -> Self {
        self.details = json!({"name": name, "kind": kind.plural});
        if !kind.group.is_empty() {
            self.details["group"] = json!(kind.group);
        }
        self
    }

    pub(super) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", kind.resource());
        Self::new(404, message).about(kind, name)
    }

    pub(super) fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", kind.resource());
        Self {
            reason: "AlreadyExists",
            ..Self::new(409, message).about(kind, name)
        }
    }

    pub(super) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            kind.resource()
        );
        Self::new(409, message).about(kind, name)
    }

    /// The version is not the newest.
    pub(super) fn stale(kind: &Kind, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    pub(super) fn invalid(kind: &Kind, name: &str, field: &str, why: &str) -> Self {
        let full = if kind.group.is_empty() {
            kind.name.to_owned()
        } else {
            format!("{}.{}", kind.name, kind.group)
        };
        let mut refusal = Self::new(422, format!("{full} \"{name}\" is invalid: {field}: {why}"));
        refusal.details = json!({"name": name, "kind": kind.name});
        if !kind.group.is_empty() {
            refusal.details["group"] = json!(kind.group);
        }
        refusal
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    /// A version that is no longer known.
    pub(super) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, message)
    }

    /// A version that is not there yet.
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

    /// As it is sent.
    #[must_use]
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        });
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}

/// The word that goes with a code.
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
