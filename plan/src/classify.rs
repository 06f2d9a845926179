//! What an answer of EC2 means for the call that it answers.
//!
//! EC2 tells its refusals apart by a code and, under `InvalidParameterValue`, only by an English
//! sentence. Those sentences are not part of its documented interface, so they are matched by the
//! words that carry them, and a sentence that nobody foresaw never counts as success.

use core::fmt;

/// The calls that Mooring makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// `AssignPrivateIpAddresses`.
    Assign,
    /// `UnassignPrivateIpAddresses`.
    Unassign,
    /// `DescribeNetworkInterfaces`, by subnet.
    DescribeInterfaces,
    /// `DescribeInstances`, by id.
    DescribeInstances,
    /// `DescribeInstanceTypes`, by name.
    DescribeInstanceTypes,
    /// `DescribeSubnets`, by id.
    DescribeSubnets,
}

impl Action {
    /// Every action, in order.
    pub const ALL: [Self; 6] = [
        Self::Assign,
        Self::Unassign,
        Self::DescribeInterfaces,
        Self::DescribeInstances,
        Self::DescribeInstanceTypes,
        Self::DescribeSubnets,
    ];

    /// The name in EC2's API, which is also the name in an IAM policy, after `ec2:`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Assign => "AssignPrivateIpAddresses",
            Self::Unassign => "UnassignPrivateIpAddresses",
            Self::DescribeInterfaces => "DescribeNetworkInterfaces",
            Self::DescribeInstances => "DescribeInstances",
            Self::DescribeInstanceTypes => "DescribeInstanceTypes",
            Self::DescribeSubnets => "DescribeSubnets",
        }
    }

    /// Whether the call changes anything in EC2.
    #[must_use]
    pub const fn mutates(self) -> bool {
        matches!(self, Self::Assign | Self::Unassign)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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

/// What became of a call that did not plainly succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// What was asked for is so already: an address to take off is not on that ENI.
    Done,
    /// An address is on another ENI, and reassignment was not allowed.
    AssignedElsewhere,
    /// An address is the primary one of an ENI: it can be neither moved nor taken off.
    Primary,
    /// An address lies outside the ENI's subnet.
    NotInSubnet,
    /// An address is among the first four or the last of its subnet.
    ReservedByAws,
    /// The ENI has as many addresses as its instance type allows.
    NoRoom,
    /// There is no such ENI. Describe is eventually consistent: by itself no proof that it is gone.
    InterfaceNotFound,
    /// There is no such instance; no proof of its termination either.
    InstanceNotFound,
    /// There is no such subnet.
    SubnetNotFound,
    /// The credentials may not do this, or there are none.
    Denied,
    /// The account's bucket for this action is empty. Nothing was done.
    Throttled,
    /// The call may have been executed: read, then call again.
    Unknown,
    /// EC2 refused for a reason that has no name here. Nothing was done.
    Invalid,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 13] = [
        Self::Done,
        Self::AssignedElsewhere,
        Self::Primary,
        Self::NotInSubnet,
        Self::ReservedByAws,
        Self::NoRoom,
        Self::InterfaceNotFound,
        Self::InstanceNotFound,
        Self::SubnetNotFound,
        Self::Denied,
        Self::Throttled,
        Self::Unknown,
        Self::Invalid,
    ];

    /// Will this interface refuse the same call again, as long as it is what it is?
    #[must_use]
    pub const fn is_for_good(self) -> bool {
        matches!(
            self,
            Self::NoRoom | Self::InterfaceNotFound | Self::NotInSubnet
        )
    }

    /// Is it of the account, or of EC2 as a whole, as far as one call can tell? Others then fail alike.
    #[must_use]
    pub const fn is_of_all(self) -> bool {
        matches!(self, Self::Denied | Self::Throttled | Self::Unknown)
    }

    /// The outcome in one word, for reasons and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "Done",
            Self::AssignedElsewhere => "AssignedElsewhere",
            Self::Primary => "Primary",
            Self::NotInSubnet => "NotInSubnet",
            Self::ReservedByAws => "ReservedByAws",
            Self::NoRoom => "NoRoom",
            Self::InterfaceNotFound => "InterfaceNotFound",
            Self::InstanceNotFound => "InstanceNotFound",
            Self::SubnetNotFound => "SubnetNotFound",
            Self::Denied => "Denied",
            Self::Throttled => "Throttled",
            Self::Unknown => "Unknown",
            Self::Invalid => "Invalid",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
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
mod tests {
    use super::{Action, Outcome, classify, code};

    /// The table of the EC2 reference, and what lies around it.
    const TABLE: &[(Action, &str, &str, Outcome)] = &[
        (
            Action::Assign,
            "InvalidParameterValue",
            "[203.0.113.7] assigned, but move is not allowed.",
            Outcome::AssignedElsewhere,
        ),
        (
            Action::Assign,
            "Resource.AlreadyAssigned",
            "",
            Outcome::AssignedElsewhere,
        ),
        (
            Action::Assign,
            "InvalidParameterValue",
            "secondary-addresses: 203.0.113.7 is the primary address of eni-1",
            Outcome::Primary,
        ),
        (
            Action::Assign,
            "InvalidParameterValue",
            "Address 203.0.113.7 does not fall within the subnet's address range",
            Outcome::NotInSubnet,
        ),
        (
            Action::Assign,
            "InvalidParameterValue",
            "Address 203.0.113.1 is in subnet's reserved range",
            Outcome::ReservedByAws,
        ),
        (
            Action::Assign,
            "PrivateIpAddressLimitExceeded",
            "Number of private addresses will exceed limit.",
            Outcome::NoRoom,
        ),
        (
            Action::Assign,
            "PrivateIpAddressLimitExceeded",
            "something new",
            Outcome::NoRoom,
        ),
        (
            Action::Assign,
            "InvalidNetworkInterfaceID.NotFound",
            "",
            Outcome::InterfaceNotFound,
        ),
        (
            Action::Unassign,
            "InvalidNetworkInterfaceID.NotFound",
            "",
            Outcome::InterfaceNotFound,
        ),
        (
            Action::DescribeInstances,
            "InvalidInstanceID.NotFound",
            "",
            Outcome::InstanceNotFound,
        ),
        (
            Action::DescribeSubnets,
            "InvalidSubnetID.NotFound",
            "",
            Outcome::SubnetNotFound,
        ),
        (
            Action::Unassign,
            "InvalidParameterValue",
            "Some of [203.0.113.7] are not assigned to interface eni-1",
            Outcome::Done,
        ),
        (
            Action::Unassign,
            "InvalidParameterValue",
            "203.0.113.4 is the primary address of eni-1 and cannot be unassigned",
            Outcome::Primary,
        ),
        (
            Action::DescribeInstanceTypes,
            "InvalidInstanceType",
            "",
            Outcome::Invalid,
        ),
        (
            Action::Unassign,
            "PrivateIpAddressLimitExceeded",
            "",
            Outcome::Invalid,
        ),
        (Action::Assign, "IncorrectState", "", Outcome::Invalid),
    ];

    #[test]
    fn every_refusal_of_the_reference_is_told_apart() {
        for (action, code, message, outcome) in TABLE {
            assert_eq!(
                classify(*action, code, message),
                *outcome,
                "{action} {code} {message:?}"
            );
        }
    }

    #[test]
    fn throttling_and_denial_mean_the_same_on_every_action() {
        for action in Action::ALL {
            for code in [
                "RequestLimitExceeded",
                "Client.RequestLimitExceeded",
                "Throttling",
            ] {
                assert_eq!(
                    classify(action, code, "anything"),
                    Outcome::Throttled,
                    "{action} {code}"
                );
            }
            for code in [
                "UnauthorizedOperation",
                "AuthFailure",
                "ExpiredToken",
                code::NO_CREDENTIALS,
            ] {
                assert_eq!(
                    classify(action, code, "anything"),
                    Outcome::Denied,
                    "{action} {code}"
                );
            }
        }
    }

    #[test]
    fn a_call_that_may_have_been_executed_is_unknown() {
        for action in Action::ALL {
            for code in [
                "",
                code::TIMEOUT,
                code::CONNECTION,
                code::UNREADABLE,
                code::SERVER_ERROR,
                "InternalError",
                "InternalFailure",
                "Server.InternalError",
                "ServiceUnavailable",
                "Unavailable",
                "SomethingThatAwsInventedYesterday",
            ] {
                assert_eq!(
                    classify(action, code, "not assigned to"),
                    Outcome::Unknown,
                    "{action} {code}"
                );
            }
        }
    }

    #[test]
    fn a_message_that_nobody_foresaw_is_neither_success_nor_a_move() {
        for action in Action::ALL {
            for message in ["", "é", "move", "Value (x) for parameter is invalid."] {
                let outcome = classify(action, "InvalidParameterValue", message);
                assert_eq!(outcome, Outcome::Invalid, "{action} {message:?}");
            }
        }
    }

    #[test]
    fn an_address_that_is_not_there_is_done_only_when_it_was_to_be_taken_off() {
        let message = "Some of [203.0.113.7] are not assigned to interface eni-1";
        for action in Action::ALL {
            let done = classify(action, "InvalidParameterValue", message) == Outcome::Done;
            assert_eq!(done, action == Action::Unassign, "{action}");
        }
    }

    #[test]
    fn the_sentences_are_matched_in_whatever_case() {
        let message = "[203.0.113.7] ASSIGNED, but Move Is Not Allowed";
        assert_eq!(
            classify(Action::Assign, "InvalidParameterValue", message),
            Outcome::AssignedElsewhere
        );
    }
}
