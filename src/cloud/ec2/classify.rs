//! Classifies answers of EC2.
//! Rules: R1.5, R5.2, R5.3.
//!
//! EC2 distinguishes its refusals by a code, and under `InvalidParameterValue` only by an English
//! sentence. Those sentences are not part of the documented API, so they are matched by their
//! characteristic words, and an unknown sentence never counts as success.

use mooring_plan::outcome::{Action, Outcome};

/// Codes of Mooring, for failures without a code of EC2.
pub mod code {
    /// There was no answer in time.
    pub const TIMEOUT: &str = "Timeout";
    /// The connection could not be made, or broke.
    pub const CONNECTION: &str = "ConnectionLost";
    /// The answer cannot be parsed, or lacks a required part.
    pub const UNREADABLE: &str = "UnreadableAnswer";
    /// The request was not sent, because there are no credentials.
    pub const NO_CREDENTIALS: &str = "NoCredentials";
    /// The request was not sent, because it could not be built.
    pub const NOT_SENT: &str = "NotSent";
    /// EC2 answered with an internal error (HTTP 5xx) without a code.
    pub const SERVER_ERROR: &str = "ServerError";
}

/// The outcome of an error code of EC2, or of one of [`code`], for `action`.
///
/// An unknown code is [`Outcome::Unknown`], which is always safe: a read follows before any other step.
#[must_use]
pub fn classify(action: Action, code: &str, message: &str) -> Outcome {
    let code = code.strip_prefix("Client.").unwrap_or(code);
    match code {
        "RequestLimitExceeded"
        | "Throttling"
        | "ThrottlingException"
        | "ThrottledException"
        | "RequestThrottled"
        | "RequestThrottledException"
        | "EC2ThrottledException"
        | "TooManyRequestsException"
        | "SlowDown" => Outcome::Throttled,

        "UnauthorizedOperation"
        | "AccessDenied"
        | "AccessDeniedException"
        | "Blocked"
        | "OptInRequired"
        | "PendingVerification" => Outcome::Denied,

        // EC2 sends `AuthFailure` for credentials that it does not know, and also for a wrong clock.
        "AuthFailure"
        | "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "MissingAuthenticationToken"
        | "SignatureDoesNotMatch"
        | "IncompleteSignature"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "RequestExpired"
        | code::NO_CREDENTIALS => Outcome::Unauthenticated,

        "InvalidNetworkInterfaceID.NotFound" => Outcome::InterfaceNotFound,
        "InvalidInstanceID.NotFound" => Outcome::InstanceNotFound,
        "InvalidSubnetID.NotFound" => Outcome::SubnetNotFound,
        "PrivateIpAddressLimitExceeded" if action == Action::Assign => Outcome::NoRoom,
        "Resource.AlreadyAssigned" | "InvalidIPAddress.InUse" if action == Action::Assign => {
            Outcome::AssignedElsewhere
        }
        "InvalidParameterValue" => invalid_value(action, message),

        code::NOT_SENT
        | "IncorrectInstanceState"
        | "IncorrectState"
        | "OperationNotPermitted"
        | "Resource.AlreadyAssigned"
        | "PrivateIpAddressLimitExceeded"
        | "UnknownParameter"
        | "UnsupportedOperation"
        | "ValidationError"
        | "DryRunOperation" => Outcome::Invalid,
        // The convention of EC2 for a valid request that it refuses (API error codes).
        _ if code.starts_with("Invalid") || code.starts_with("Missing") => Outcome::Invalid,
        _ => Outcome::Unknown,
    }
}

/// Classifies the sentences under `InvalidParameterValue`. "move is not allowed" and "does not fall within" were
/// seen in public projects. The others are not confirmed on a real account.
fn invalid_value(action: Action, message: &str) -> Outcome {
    let mentions = |words: &str| contains(message, words);
    match action {
        Action::Assign if mentions("move is not allowed") => Outcome::AssignedElsewhere,
        Action::Assign if mentions("secondary-addresses") || mentions("primary") => {
            Outcome::Primary
        }
        Action::Assign if mentions("reserved") => Outcome::ReservedByAws,
        Action::Assign
            if mentions("does not fall within") || mentions("subnet's address range") =>
        {
            Outcome::NotInSubnet
        }
        // Check this before "not assigned": a primary address is on the ENI, so it was not unassigned.
        Action::Unassign if mentions("primary") => Outcome::Primary,
        Action::Unassign
            if mentions("not assigned to")
                || mentions("not associated with")
                || mentions("not on interface") =>
        {
            Outcome::Done
        }
        _ => Outcome::Invalid,
    }
}

/// Whether `text` contains `words`, without regard to case. `words` must be lower case.
fn contains(text: &str, words: &str) -> bool {
    text.as_bytes()
        .windows(words.len())
        .any(|window| window.eq_ignore_ascii_case(words.as_bytes()))
}

#[cfg(test)]
mod tests;
