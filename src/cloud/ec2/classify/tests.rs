//! Tests of the codes and sentences of EC2.

use super::{Action, Outcome, classify, code};

/// The table of the EC2 reference, and related codes.
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
fn every_refusal_of_the_reference_is_classified() {
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
        for (code, outcome) in [
            ("UnauthorizedOperation", Outcome::Denied),
            ("AuthFailure", Outcome::Unauthenticated),
            ("ExpiredToken", Outcome::Unauthenticated),
            (code::NO_CREDENTIALS, Outcome::Unauthenticated),
        ] {
            assert_eq!(
                classify(action, code, "anything"),
                outcome,
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
fn an_unknown_message_is_neither_success_nor_a_move() {
    for action in Action::ALL {
        for message in ["", "é", "move", "Value (x) for parameter is invalid."] {
            let outcome = classify(action, "InvalidParameterValue", message);
            assert_eq!(outcome, Outcome::Invalid, "{action} {message:?}");
        }
    }
}

#[test]
fn an_absent_address_is_success_only_for_an_unassign() {
    let message = "Some of [203.0.113.7] are not assigned to interface eni-1";
    for action in Action::ALL {
        let done = classify(action, "InvalidParameterValue", message) == Outcome::Done;
        assert_eq!(done, action == Action::Unassign, "{action}");
    }
}

#[test]
fn messages_are_matched_in_any_case() {
    let message = "[203.0.113.7] ASSIGNED, but Move Is Not Allowed";
    assert_eq!(
        classify(Action::Assign, "InvalidParameterValue", message),
        Outcome::AssignedElsewhere
    );
}

/// Tests each sentence alone, in the spelling of EC2 and in another one: its characteristic words are enough.
#[test]
fn a_refusal_is_classified_by_any_of_its_messages() {
    use Action::{Assign, Unassign};
    for (action, sentence, outcome) in [
        (Assign, "Invalid secondary-addresses", Outcome::Primary),
        (Assign, "It is the PRIMARY address", Outcome::Primary),
        (Assign, "is reserved", Outcome::ReservedByAws),
        (
            Assign,
            "does not fall within the range",
            Outcome::NotInSubnet,
        ),
        (
            Assign,
            "Outside of the Subnet's address range",
            Outcome::NotInSubnet,
        ),
        (
            Assign,
            "assigned, but move is not allowed",
            Outcome::AssignedElsewhere,
        ),
        (Unassign, "is not assigned to eni-1", Outcome::Done),
        (Unassign, "not associated with eni-1", Outcome::Done),
        (Unassign, "is not on interface eni-1", Outcome::Done),
        // The sentence of another action has no meaning for this one.
        (Assign, "is not assigned to eni-1", Outcome::Invalid),
        (Unassign, "move is not allowed", Outcome::Invalid),
        (Unassign, "is reserved", Outcome::Invalid),
        (
            Action::DescribeInterfaces,
            "not assigned to",
            Outcome::Invalid,
        ),
        (Action::DescribeInterfaces, "primary", Outcome::Invalid),
    ] {
        let meant = classify(action, "InvalidParameterValue", sentence);
        assert_eq!(meant, outcome, "{action}: {sentence}");
    }
}

#[test]
fn an_address_elsewhere_is_a_refusal_only_for_an_assign() {
    for code in ["Resource.AlreadyAssigned", "InvalidIPAddress.InUse"] {
        let meant = |action| classify(action, code, "");
        assert_eq!(meant(Action::Assign), Outcome::AssignedElsewhere, "{code}");
        assert_eq!(meant(Action::Unassign), Outcome::Invalid, "{code}");
    }
}

#[test]
fn an_unknown_refusal_is_classified_by_the_prefix_of_its_code() {
    for code in ["InvalidSomethingNew", "MissingParameter", "IncorrectState"] {
        assert_eq!(classify(Action::Assign, code, ""), Outcome::Invalid);
    }
}
