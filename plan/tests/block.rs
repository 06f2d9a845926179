//! The allocatable addresses of a block, and the syntax of its fields.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::BTreeSet;

use ipnet::Ipv4Net;
use mooring_plan::address::{Address, Cidr, parse_address, parse_cidr};
use mooring_plan::block::{BlockRange, Unusable};
use mooring_plan::ec2::reserved;
use proptest::prelude::*;

fn net(text: &str) -> Cidr {
    text.parse().unwrap()
}

fn block(cidr: &str, excluded: &[&str]) -> BlockRange {
    BlockRange::parse(cidr, excluded.iter().copied()).unwrap()
}

fn refused(cidr: &str, sentence_part: &str) {
    let error = parse_cidr(cidr).expect_err(cidr).to_string();
    assert!(error.contains(sentence_part), "{cidr}: {error}");
}

#[test]
fn a_cidr_is_refused_with_what_to_write_instead() {
    refused("203.0.113.5/24", "write \"203.0.113.0/24\"");
    refused("203.0.113.5", "write \"203.0.113.5/32\"");
    refused("2001:db8::/64", "is IPv6, which is not supported yet");
    refused("203.0.113.0/33", "is not an IPv4 CIDR such as");
    refused("203.0.113.0/024", "203.0.113.0/24");
    refused("", "is not an IPv4 CIDR such as");
    assert_eq!(parse_cidr("203.0.113.0/24").unwrap(), net("203.0.113.0/24"));
}

#[test]
fn an_address_is_refused_with_what_it_is() {
    let error = |text| parse_address(text).unwrap_err().to_string();
    assert!(error("2001:db8::1").contains("is IPv6, which is not supported yet"));
    assert!(error("203.0.113.07").contains("is not an IPv4 address"));
    assert!(error("203.0.113.7/32").contains("is not an IPv4 address"));
    assert_eq!(
        parse_address("203.0.113.7").unwrap(),
        Address::v4([203, 0, 113, 7])
    );
}

#[test]
fn an_address_is_shown_as_it_is_written() {
    let address = Address::v4([203, 0, 113, 7]);
    assert_eq!(address.to_string().parse(), Ok(address));
    assert_eq!(format!("{address:?}"), "203.0.113.7");
    assert_eq!(format!("[{address:>12}]"), "[ 203.0.113.7]");
}

#[test]
fn an_excluded_entry_may_be_an_address_or_a_cidr() {
    let block = block("203.0.113.0/24", &["203.0.113.9", "203.0.113.128/25"]);
    let subnets = [net("203.0.113.0/24")];
    let check = |text: &str| block.check(text.parse().unwrap(), &subnets);
    assert_eq!(
        check("203.0.113.9"),
        Err(Unusable::Excluded(net("203.0.113.9/32")))
    );
    assert_eq!(
        check("203.0.113.200"),
        Err(Unusable::Excluded(net("203.0.113.128/25")))
    );
    assert_eq!(check("203.0.113.10"), Ok(()));
    assert!(BlockRange::parse("203.0.113.0/24", ["203.0.113.9/25"]).is_err());
}

#[test]
fn aws_reserved_addresses_belong_to_the_subnet_not_the_block() {
    let subnet = net("10.0.0.0/24");
    for kept in [0, 1, 2, 3, 255] {
        assert!(reserved(Address::v4([10, 0, 0, kept]), subnet), "{kept}");
    }
    // The first address of the block is not the first address of the subnet.
    let block = block("10.0.0.16/28", &[]);
    assert_eq!(block.check(Address::v4([10, 0, 0, 16]), &[subnet]), Ok(()));
    assert_eq!(block.capacity(&[subnet]), 16);
    assert_eq!(block.capacity(&[net("10.0.0.16/28")]), 11);
}

#[test]
fn before_the_subnet_is_known_an_address_passes_but_none_is_allocated() {
    let block = block("10.0.0.0/24", &[]);
    let first = Address::v4([10, 0, 0, 0]);
    assert_eq!(block.check(first, &[]), Ok(()));
    assert!(!block.is_allocatable(first, &[]));
    assert_eq!(block.lowest_free(&[], |_| None), None);
    assert_eq!(block.capacity(&[]), 0);
}

#[test]
fn the_lowest_free_address_is_allocated_first() {
    let block = block("10.0.0.0/28", &["10.0.0.4"]);
    let subnets = [net("10.0.0.0/24")];
    let taken = BTreeSet::from([Address::v4([10, 0, 0, 5])]);
    let free = block.lowest_free(&subnets, |address| {
        taken.contains(&address).then_some(address)
    });
    assert_eq!(free, Some(Address::v4([10, 0, 0, 6])));
    assert_eq!(block.lowest_free(&subnets, Some), None);
}

#[test]
fn a_block_has_a_range_and_exclusions() {
    let block = block("10.0.0.0/28", &["10.0.0.8/31", "10.0.0.4", "10.0.0.4"]);
    assert_eq!(block.cidr(), net("10.0.0.0/28"));
    assert_eq!(block.excluded(), [net("10.0.0.4/32"), net("10.0.0.8/31")]);
    assert_eq!(block.to_string(), "10.0.0.0/28");
}

#[test]
fn a_subnet_with_several_ranges_allocates_each_address_once() {
    let block = block("10.0.0.0/23", &[]);
    // Each subnet CIDR has five reserved addresses.
    assert_eq!(
        block.capacity(&[net("10.0.0.0/24"), net("10.0.1.0/24")]),
        502
    );
    assert_eq!(
        block.capacity(&[net("10.0.0.0/24"), net("10.0.0.0/25")]),
        256 - 5 - 1
    );
}

#[test]
fn the_ends_of_the_address_space_are_handled() {
    let block = block("0.0.0.0/0", &["255.255.255.255", "0.0.0.0"]);
    let everything = [net("0.0.0.0/0")];
    assert_eq!(block.capacity(&everything), (1 << 32) - 5);
    assert_eq!(
        block.lowest_free(&everything, |_| None),
        Some(Address::v4([0, 0, 0, 4]))
    );
}

fn small_net() -> impl Strategy<Value = Cidr> {
    (0_u32..512, 23_u8..=32).prop_map(|(low, prefix)| {
        let range = Ipv4Net::new((0x0a00_0000 + low).into(), prefix).unwrap();
        Cidr::v4(range.trunc())
    })
}

proptest! {
    #[test]
    fn capacity_and_lowest_free_agree_with_a_full_scan(
        cidr in small_net(),
        excluded in proptest::collection::vec(small_net(), 0..4),
        subnets in proptest::collection::vec(small_net(), 0..4),
        taken in proptest::collection::btree_set(0_u32..512, 0..40),
    ) {
        let block = BlockRange::new(cidr, excluded);
        let is_taken = |address: Address| taken.contains(&(u32::from(address.ipv4()) - 0x0a00_0000));
        let good: Vec<_> = (0..512)
            .map(|low| Address::v4(0x0a00_0000 + low))
            .filter(|address| block.is_allocatable(*address, &subnets))
            .collect();
        prop_assert_eq!(block.capacity(&subnets), good.len() as u64);
        let lowest = good.into_iter().find(|address| !is_taken(*address));
        let taken_until = |address: Address| {
            let row = (u32::from(address.ipv4())..).map(Address::v4).take_while(|address| is_taken(*address));
            row.last()
        };
        prop_assert_eq!(block.lowest_free(&subnets, taken_until), lowest);
    }

    #[test]
    fn blocks_overlap_if_they_share_an_address(left in small_net(), right in small_net()) {
        let (one, other) = (left.ipv4(), right.ipv4());
        let in_common = one.hosts().chain([one.network(), one.broadcast()]).any(|a| other.contains(&a));
        let (left, right) = (BlockRange::new(left, vec![]), BlockRange::new(right, vec![]));
        prop_assert_eq!(left.overlaps(&right), in_common);
        prop_assert_eq!(right.overlaps(&left), in_common);
    }
}
