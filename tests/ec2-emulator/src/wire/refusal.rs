//! An error in the format of the API.

use crate::state::error::Ec2Error;

use super::action::UnknownAction;
use super::xml::Xml;

/// An error answer: status, code and message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code} ({status}): {message}")]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// The error code, for programs.
    pub code: String,
    /// The message, for people.
    pub message: String,
}

impl Refusal {
    /// A refusal with the HTTP status of its code.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        let code = code.into();
        Self {
            status: status(&code),
            code,
            message: message.into(),
        }
    }

    /// A required parameter is missing.
    #[must_use]
    pub fn missing(parameter: &str) -> Self {
        Self::new(
            "MissingParameter",
            format!("The request must contain the parameter {parameter}"),
        )
    }

    /// A value that cannot be parsed.
    #[must_use]
    pub fn invalid(value: &str, parameter: &str) -> Self {
        Self::new(
            "InvalidParameterValue",
            format!("Value ({value}) for parameter {parameter} is invalid."),
        )
    }

    /// The bucket is empty.
    #[must_use]
    pub fn throttled() -> Self {
        Self::new("RequestLimitExceeded", "Request limit exceeded.")
    }

    /// A dry run that would have been allowed.
    #[must_use]
    pub fn dry_run() -> Self {
        Self::new(
            "DryRunOperation",
            "Request would have succeeded, but DryRun flag is set.",
        )
    }

    /// The body of the answer.
    #[must_use]
    pub fn to_xml(&self, request_id: &str) -> String {
        let mut xml = Xml::document();
        xml.within("Response", |xml| {
            xml.within("Errors", |xml| {
                xml.within("Error", |xml| {
                    xml.leaf("Code", &self.code);
                    xml.leaf("Message", &self.message);
                });
            });
            xml.leaf("RequestID", request_id);
        });
        xml.finish()
    }
}

impl From<Ec2Error> for Refusal {
    fn from(error: Ec2Error) -> Self {
        Self::new(error.code.as_str(), error.message)
    }
}

impl From<UnknownAction> for Refusal {
    fn from(error: UnknownAction) -> Self {
        Self::new("InvalidAction", error.to_string())
    }
}

/// The HTTP status of a code (EC2 API reference, Error codes). Most are 400.
fn status(code: &str) -> u16 {
    match code {
        "AuthFailure" | "UnauthorizedOperation" => 403,
        "DryRunOperation" => 412,
        "InternalError" | "InternalFailure" => 500,
        "RequestLimitExceeded" | "Unavailable" | "ServiceUnavailable" => 503,
        _ => 400,
    }
}
