//! Tests of the admission rules, and of the messages of refusals.
#![allow(clippy::unwrap_used, missing_docs)]

mod address;
mod block;
mod placement;
mod pod;
mod syntax;
mod usage;

use mooring_plan::admission::address::{KnownBlock, Other};
use mooring_plan::admission::{Denial, DenyReason};
use mooring_plan::block::BlockRange;
use mooring_plan::names::{BlockName, IpName};

fn range(cidr: &str) -> BlockRange {
    BlockRange::parse(cidr, []).unwrap()
}

/// A block in a subnet of the same size.
fn block(name: &str, cidr: &str) -> KnownBlock {
    KnownBlock {
        name: BlockName::from(name),
        range: range(cidr),
        subnets: vec![cidr.parse().unwrap()],
        deleting: false,
    }
}

/// An IP with an empty spec.
fn ip(name: &str) -> Other {
    Other {
        name: IpName::from(name),
        desired: None,
        reserved: None,
        block: None,
        deleting: false,
    }
}

fn asking_for(name: &str, address: &str) -> Other {
    Other {
        desired: Some(address.parse().unwrap()),
        ..ip(name)
    }
}

/// Asserts that the request is refused for this reason, with all of these words in the message.
fn refused<T>(result: Result<T, Denial>, reason: DenyReason, words: &[&str]) -> Denial {
    let denial = result.err().unwrap();
    assert_eq!(denial.reason(), reason, "{denial}");
    let message = denial.to_string();
    for part in words {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
    denial
}

#[test]
fn a_refusal_has_the_problem_and_then_the_remedy() {
    let own = Denial::new(DenyReason::Invalid, "it is too small", "make it larger");
    assert_eq!(own.to_string(), "it is too small: make it larger");
    assert_eq!(
        (own.what(), own.way_out()),
        ("it is too small", "make it larger")
    );
    assert!(!own.is_from_cache(), "the request alone decides");
    let sentences = Denial::new(DenyReason::Invalid, "It is too small.", "Make it larger.");
    assert_eq!(sentences.to_string(), "It is too small. Make it larger.");
    let others = Denial::from_others(DenyReason::Forbidden, "it is taken", "take another");
    assert!(others.is_from_cache(), "a cache may be behind");
    assert_eq!(others.reason(), DenyReason::Forbidden);
}

#[test]
fn a_refusal_has_the_codes_of_http_and_kubernetes() {
    for (deny, code, reason) in [
        (DenyReason::BadRequest, 400, "BadRequest"),
        (DenyReason::Forbidden, 403, "Forbidden"),
        (DenyReason::Invalid, 422, "Invalid"),
        (DenyReason::Unavailable, 503, "ServiceUnavailable"),
    ] {
        assert_eq!((deny.code(), deny.reason()), (code, reason));
    }
}
