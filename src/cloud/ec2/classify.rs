//! What an answer of EC2 means for the call that it answers.
//! Rules: R1.5, R5.2, R5.3.
//!
//! EC2 tells its refusals apart by a code and, under `InvalidParameterValue`, only by an English
//! sentence. Those sentences are not part of its documented interface, so they are matched by the
//! words that carry them, and an unforeseen sentence never counts as success.

use mooring_plan::outcome::{Action, Outcome};

/// Codes of our own, for answers that carry none of EC2's.
pub mod code {
    /// No answer in time.
    pub const TIMEOUT: &str = "Timeout";
    /// The connection could not be made, or broke.
    pub const CONNECTION: &str = "ConnectionLost";
    /// There was an answer, and it cannot be read or lacks what was asked for.
    pub const UNREADABLE: &str = "UnreadableAnswer";
    /// The request was never sent: there are no credentials to sign it with.
    pub const NO_CREDENTIALS: &str = "NoCredentials";
    /// The request was never sent: it could not be built.
    pub const NOT_SENT: &str = "NotSent";
    /// EC2 answered that it failed itself (HTTP 5xx), whatever code it gave.
    pub const SERVER_ERROR: &str = "ServerError";
}

/// What an error of EC2, or one of [`code`], means for `action`.
///
/// A code that is not known counts as [`Outcome::Unknown`], the one answer that is always safe: it
/// leads to a read before anything else.
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
        | "AuthFailure"
        | "AccessDenied"
        | "AccessDeniedException"
        | "Blocked"
        | "OptInRequired"
        | "PendingVerification"
        | "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "MissingAuthenticationToken"
        | "SignatureDoesNotMatch"
        | "IncompleteSignature"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "RequestExpired"
        | code::NO_CREDENTIALS => Outcome::Denied,

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
        // EC2's convention for a request that it understood and turned down (API error codes).
        _ if code.starts_with("Invalid") || code.starts_with("Missing") => Outcome::Invalid,
        _ => Outcome::Unknown,
    }
}

/// The sentences under `InvalidParameterValue`. "move is not allowed" and "does not fall within" were
/// seen in public projects; the others are not confirmed on a real account.
fn invalid_value(action: Action, message: &str) -> Outcome {
    let says = |words: &str| contains(message, words);
    match action {
        Action::Assign if says("move is not allowed") => Outcome::AssignedElsewhere,
        Action::Assign if says("secondary-addresses") || says("primary") => Outcome::Primary,
        Action::Assign if says("reserved") => Outcome::ReservedByAws,
        Action::Assign if says("does not fall within") || says("subnet's address range") => {
            Outcome::NotInSubnet
        }
        // Before "not assigned": a primary address is on the ENI, so that nothing is done.
        Action::Unassign if says("primary") => Outcome::Primary,
        Action::Unassign
            if says("not assigned to")
                || says("not associated with")
                || says("not on interface") =>
        {
            Outcome::Done
        }
        _ => Outcome::Invalid,
    }
}

/// Whether `words`, which are lower case, stand in `text`, in whatever case.
fn contains(text: &str, words: &str) -> bool {
    text.as_bytes()
        .windows(words.len())
        .any(|window| window.eq_ignore_ascii_case(words.as_bytes()))
}

#[cfg(test)]
mod tests;
