//! Whether a block is valid.

use mooring_plan::objects::Namespaces;

use mooring_plan::admission::DenyReason::{Forbidden, Invalid};
use mooring_plan::admission::address::Other;
use mooring_plan::admission::block::{check_delete, check_range, check_shrink};
use mooring_plan::block::BlockRange;
use mooring_plan::names::BlockName;

use super::{asking_for, block, ip, range, refused};

#[test]
fn two_blocks_do_not_share_an_address() {
    let one = BlockName::from("one");
    let there = |other: &_| {
        let others = std::slice::from_ref(other);
        check_range(&one, &range("203.0.113.0/25"), others)
    };
    let mut around = block("all", "203.0.113.0/24");
    refused(
        there(&around),
        Invalid,
        &["overlaps IPBlock \"all\" (203.0.113.0/24)", "apart from it"],
    );
    around.deleting = true;
    refused(there(&around), Invalid, &["try again once it is gone"]);
    assert!(there(&block("half", "203.0.113.128/25")).is_ok());
    assert!(there(&block("one", "203.0.113.0/24")).is_ok(), "itself");
}

#[test]
fn a_shrunk_block_must_contain_the_addresses_of_its_ips() {
    let name = BlockName::from("a");
    let from = BlockRange::parse("203.0.113.0/24", ["203.0.113.250"]).unwrap();
    let shrunk = |to: &str, other: &Other| {
        let ips = std::slice::from_ref(other);
        check_shrink(&name, &from, &range(to), ips)
    };
    let asking = asking_for("partner", "203.0.113.200");
    let lost = &["would lose", "partner (203.0.113.200)"];
    refused(shrunk("203.0.113.0/25", &asking), Forbidden, lost);
    assert!(shrunk("203.0.113.128/25", &asking).is_ok(), "it keeps it");
    // The address in its status counts, not the one in its spec.
    let mut moving = asking_for("partner", "203.0.113.7");
    moving.reserved = asking.desired;
    refused(shrunk("203.0.113.0/25", &moving), Forbidden, lost);
    // The IP belongs to another block by name or reservation, although its address is in this range too.
    let mut elsewhere = asking.clone();
    elsewhere.block = Some(BlockName::from("b"));
    assert!(shrunk("203.0.113.0/25", &elsewhere).is_ok());
    elsewhere.block = Some(name.clone());
    refused(shrunk("203.0.113.0/25", &elsewhere), Forbidden, lost);
    // An address that was outside of the block before does not count.
    let never = asking_for("partner", "203.0.113.250");
    assert!(shrunk("203.0.113.0/25", &never).is_ok());
    assert!(shrunk("203.0.113.0/25", &ip("partner")).is_ok());
}

#[test]
fn a_block_with_an_ip_is_not_deleted() {
    let block = block("a", "203.0.113.0/24");
    let deleted = |other: &Other| check_delete(&block, std::slice::from_ref(other));
    let mut named = ip("partner");
    named.block = Some(block.name.clone());
    let inside = asking_for("partner", "203.0.113.7");
    for other in [&named, &inside] {
        refused(deleted(other), Forbidden, &["has IPs: partner"]);
        let mut going = other.clone();
        going.deleting = true;
        assert!(deleted(&going).is_ok(), "it goes as well");
    }
    assert!(deleted(&asking_for("far", "198.51.100.7")).is_ok());
    assert!(deleted(&ip("none")).is_ok());
}

#[test]
fn fewer_namespaces_than_before_is_a_narrowing() {
    let names = |names: &[&'static str]| Namespaces::listed(names.iter().copied());
    let (all, one, two) = (names(&["*"]), names(&["a"]), names(&["a", "b"]));
    for (before, after, narrower) in [
        (&all, &all, false),
        (&one, &all, false),
        (&all, &two, true),
        (&two, &one, true),
        (&one, &two, false),
        (&one, &one, false),
        (&one, &Namespaces::default(), true),
    ] {
        assert_eq!(before.narrows_to(after), narrower, "{before:?} {after:?}");
    }
}

#[test]
fn no_namespace_is_allowed_unless_it_is_listed() {
    let shop = "shop".into();
    assert!(!Namespaces::default().allow(&shop));
    assert!(!Namespaces::listed(["bank"]).allow(&shop));
    assert!(Namespaces::listed(["bank", "shop"]).allow(&shop));
    assert!(Namespaces::listed(["*"]).allow(&shop));
    assert!(Namespaces::listed(["bank", "*"]).allow(&shop));
}
