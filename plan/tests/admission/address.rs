//! Checks of the address that an IP asks for.

use mooring_plan::admission::DenyReason::{Forbidden, Invalid};
use mooring_plan::admission::address::{Asked, KnownBlock, Parent, block_of, check};
use mooring_plan::block::BlockRange;
use mooring_plan::names::{BlockName, IpName};

use super::{asking_for, block, ip, refused};

fn asked(address: &str, block: &str) -> Asked {
    Asked {
        name: IpName::from("partner"),
        address: address.parse().ok(),
        block: (!block.is_empty()).then(|| BlockName::from(block)),
    }
}

fn blocks() -> Vec<KnownBlock> {
    vec![block("a", "203.0.113.0/25"), block("b", "203.0.113.128/25")]
}

#[test]
fn the_block_is_the_named_one_or_the_only_one_with_the_address() {
    let blocks = blocks();
    let found = |address, name| block_of(&asked(address, name), &blocks).unwrap();
    assert_eq!(found("", "b").name, BlockName::from("b"));
    assert_eq!(found("203.0.113.7", "").name, BlockName::from("a"));
    assert_eq!(found("203.0.113.200", "").name, BlockName::from("b"));
}

#[test]
fn an_ip_outside_of_all_blocks_gets_a_list_of_blocks() {
    let there_are = "a (203.0.113.0/25), b (203.0.113.128/25)";
    let named = asked("", "c");
    refused(
        block_of(&named, &blocks()),
        Invalid,
        &["\"c\", which does not exist.", there_are],
    );
    let outside = asked("198.51.100.7", "");
    refused(
        block_of(&outside, &blocks()),
        Invalid,
        &[
            "is in no IPBlock. Existing blocks: a (203.0.113.0/25), b (203.0.113.128/25). Use an address of one of \
             them, or create a block first.",
        ],
    );
    refused(
        block_of(&outside, &[]),
        Invalid,
        &["is in no IPBlock. There is no IPBlock yet. Create one first,"],
    );
    let twice = [blocks(), vec![block("all", "203.0.113.0/24")]].concat();
    refused(
        block_of(&asked("203.0.113.7", ""), &twice),
        Invalid,
        &["more than one", "give spec.block: \"a\" or \"all\""],
    );
    let neither = refused(
        block_of(&asked("", ""), &blocks()),
        Invalid,
        &["neither an address nor a block"],
    );
    assert!(!neither.is_from_cache());
}

#[test]
fn a_message_names_five_and_counts_the_rest() {
    let many: Vec<KnownBlock> = (0..7)
        .map(|n| block(&format!("b{n}"), &format!("10.0.{n}.0/24")))
        .collect();
    let named = |count| refused(block_of(&asked("", "c"), &many[..count]), Invalid, &[]);
    assert!(named(5).what().ends_with("b4 (10.0.4.0/24)."));
    assert!(named(7).what().ends_with("b4 (10.0.4.0/24) and 2 more."));
}

#[test]
fn a_block_that_is_being_deleted_gets_no_new_ip() {
    let mut blocks = blocks();
    blocks[0].deleting = true;
    let taken = |address| check(&asked(address, ""), &blocks, &[], None);
    refused(
        taken("203.0.113.7"),
        Forbidden,
        &["\"a\"", "is being deleted"],
    );
    assert!(taken("203.0.113.200").is_ok());
}

#[test]
fn an_unusable_address_of_the_block_is_refused_with_the_reason() {
    let mut block = block("a", "203.0.113.0/25");
    block.range = BlockRange::parse("203.0.113.0/25", ["203.0.113.64/26"]).unwrap();
    block.subnets = vec!["203.0.113.0/26".parse().unwrap()];
    let blocks = [block];
    for (address, words) in [
        ("198.51.100.7", "is not in IPBlock \"a\" (203.0.113.0/25)"),
        (
            "203.0.113.70",
            "is excluded by IPBlock \"a\" (203.0.113.64/26",
        ),
        ("203.0.113.1", "that AWS reserves in subnet"),
    ] {
        let result = check(&asked(address, "a"), &blocks, &[], None);
        refused(result, Invalid, &[words]);
    }
    let narrow = KnownBlock {
        range: BlockRange::parse("203.0.113.0/25", []).unwrap(),
        ..blocks[0].clone()
    };
    let result = check(&asked("203.0.113.70", "a"), &[narrow], &[], None).map(|_| ());
    refused(
        result,
        Invalid,
        &["not in the block's subnet (203.0.113.0/26)"],
    );
    assert!(check(&asked("203.0.113.7", "a"), &blocks, &[], None).is_ok());
}

#[test]
fn an_address_belongs_to_one_ip_by_spec_or_status() {
    let blocks = blocks();
    let with = |other: &_| {
        let others = std::slice::from_ref(other);
        check(&asked("203.0.113.7", ""), &blocks, others, None).map(|_| ())
    };
    let asking = asking_for("other", "203.0.113.7");
    let mut has = ip("other");
    has.reserved = asking.desired;
    for other in [&asking, &has] {
        refused(
            with(other),
            Invalid,
            &["in use by IP \"other\"", "delete that IP first"],
        );
    }
    let mut going = asking.clone();
    going.deleting = true;
    refused(with(&going), Invalid, &["try again once it is gone"]);
    assert!(
        with(&asking_for("partner", "203.0.113.7")).is_ok(),
        "itself"
    );
    assert!(with(&asking_for("other", "203.0.113.8")).is_ok(), "another");
}

#[test]
fn the_reservation_in_the_cluster_decides() {
    let blocks = blocks();
    let reserved =
        |parent| check(&asked("203.0.113.7", ""), &blocks, &[], Some(&parent)).map(|_| ());
    assert!(reserved(Parent::Ip(IpName::from("partner"))).is_ok());
    refused(
        reserved(Parent::Ip(IpName::from("other"))),
        Invalid,
        &["IP \"other\", which has reserved it"],
    );
    refused(
        reserved(Parent::Else("Service default/kubernetes".to_owned())),
        Invalid,
        &["in use by Service default/kubernetes"],
    );
}

#[test]
fn an_unallocated_address_is_in_no_use() {
    let other = asking_for("other", "203.0.113.7");
    assert!(check(&asked("", "a"), &blocks(), &[other], None).is_ok());
}
