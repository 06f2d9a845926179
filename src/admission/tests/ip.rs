//! An `IP` has an address that lies in a block and belongs to no other `IP`.

use mooring_plan::admission::address::Parent;
use serde_json::{Value, json};

use super::{
    accepts_silently, block, held, ip, office, partner_a, read, rejects, snapshot_of, warns,
};
use crate::admission::ip::{address_wanted, validate_ip};
use crate::admission::{Change, Snapshot, Verdict};
use crate::api::Ip;

fn new(spec: Value) -> Ip {
    ip("partner-b", "uid-b", spec, Value::Null)
}

fn create(spec: Value, snapshot: &Snapshot) -> Verdict {
    validate_ip(&Change::Create(new(spec)), snapshot)
}

#[test]
fn an_address_lies_in_a_block() {
    accepts_silently(create(json!({"address": "203.0.113.8"}), &office()));
    accepts_silently(create(
        json!({"address": "203.0.113.8", "block": "office"}),
        &office(),
    ));
    accepts_silently(create(json!({"block": "office"}), &office()));
    rejects(
        create(json!({"address": "198.51.100.8"}), &office()),
        "lies in no IPBlock. Existing blocks: office (203.0.113.0/24). Use an address of one of them, or create a \
         block first.",
    );
    rejects(
        create(json!({"address": "198.51.100.8"}), &snapshot_of([], [])),
        "There is no IPBlock yet.",
    );
    rejects(
        create(
            json!({"address": "198.51.100.8", "block": "office"}),
            &office(),
        ),
        "is not in IPBlock \"office\" (203.0.113.0/24)",
    );
    rejects(
        create(json!({"block": "home"}), &office()),
        "names IPBlock \"home\", which does not exist. Existing blocks: office (203.0.113.0/24). Name one of them,",
    );
}

#[test]
fn a_message_lists_five_blocks_and_counts_the_rest() {
    let blocks = (0..7).map(|n| block(&format!("block-{n}"), &format!("10.0.{n}.0/24")));
    rejects(
        create(json!({"address": "198.51.100.8"}), &snapshot_of([], blocks)),
        "block-4 (10.0.4.0/24) and 2 more.",
    );
}

#[test]
fn of_two_blocks_one_must_be_named() {
    let snapshot = snapshot_of(
        [],
        [
            block("office", "203.0.113.0/24"),
            block("part", "203.0.113.0/28"),
        ],
    );
    rejects(
        create(json!({"address": "203.0.113.8"}), &snapshot),
        "give spec.block: \"office\" or \"part\"",
    );
    accepts_silently(create(
        json!({"address": "203.0.113.8", "block": "part"}),
        &snapshot,
    ));
}

#[test]
fn excluded_and_awss_own_addresses_are_refused() {
    let mut excluding = block("office", "203.0.113.0/24");
    excluding.spec.excluded = vec!["203.0.113.8/29".to_owned()];
    rejects(
        create(
            json!({"address": "203.0.113.9"}),
            &snapshot_of([], [excluding]),
        ),
        "203.0.113.8/29 in spec.excluded",
    );
    rejects(
        create(json!({"address": "203.0.113.3"}), &office()),
        "is AWS's own",
    );
    rejects(
        create(json!({"address": "203.0.113.255"}), &office()),
        "is AWS's own",
    );
}

#[test]
fn what_aws_keeps_is_the_subnets() {
    let mut part = block("part", "203.0.113.16/28");
    part.status.get_or_insert_default().subnet_cidrs = vec!["203.0.113.0/24".to_owned()];
    accepts_silently(create(
        json!({"address": "203.0.113.16"}),
        &snapshot_of([], [part]),
    ));
}

#[test]
fn before_the_first_look_at_the_subnet_awss_addresses_pass() {
    let mut unseen = block("office", "203.0.113.0/24");
    unseen.status = None;
    accepts_silently(create(
        json!({"address": "203.0.113.3"}),
        &snapshot_of([], [unseen]),
    ));
}

#[test]
fn the_holder_of_an_address_is_named() {
    rejects(
        create(json!({"address": "203.0.113.7"}), &office()),
        "is in use by IP \"partner-a\"",
    );
    let allocated = ip(
        "partner-c",
        "uid-c",
        json!({"block": "office"}),
        json!({"address": "203.0.113.9", "block": "office"}),
    );
    let snapshot = snapshot_of([allocated], [block("office", "203.0.113.0/24")]);
    rejects(
        create(json!({"address": "203.0.113.9"}), &snapshot),
        "is in use by IP \"partner-c\"",
    );
    let service = office().with_parent(Some(Parent::Else("Service default/kubernetes".to_owned())));
    rejects(
        create(json!({"address": "203.0.113.8"}), &service),
        "is in use by Service default/kubernetes",
    );
    let gone = office().with_parent(Some(Parent::Ip("partner-z".into())));
    rejects(
        create(json!({"address": "203.0.113.8"}), &gone),
        "IP \"partner-z\", which has reserved it",
    );
    let own = office().with_parent(Some(Parent::Ip("partner-b".into())));
    accepts_silently(create(json!({"address": "203.0.113.8"}), &own));
}

#[test]
fn a_block_on_its_way_out_takes_no_more() {
    let mut deleting = block("office", "203.0.113.0/24");
    deleting.metadata.deletion_timestamp = Some(read(json!("2026-01-01T00:00:00Z")));
    rejects(
        create(json!({"block": "office"}), &snapshot_of([], [deleting])),
        "IPBlock \"office\" of IP \"partner-b\" is being deleted",
    );
}

#[test]
fn a_full_block_is_said_at_once() {
    let mut full = block("office", "203.0.113.0/24");
    full.status.get_or_insert_default().free = 0;
    warns(
        create(json!({"block": "office"}), &snapshot_of([], [full.clone()])),
        "has no free address",
    );
    full.status.get_or_insert_default().free = 1;
    accepts_silently(create(json!({"block": "office"}), &snapshot_of([], [full])));
}

#[test]
fn ipv6_is_refused_in_a_sentence() {
    rejects(
        create(json!({"address": "2001:db8::1"}), &office()),
        "is IPv6, which is not supported yet",
    );
}

fn edit(new: Ip, snapshot: &Snapshot) -> Verdict {
    validate_ip(
        &Change::Update {
            old: held("203.0.113.7"),
            new,
        },
        snapshot,
    )
}

fn two_blocks() -> Snapshot {
    snapshot_of(
        [held("203.0.113.7")],
        [
            block("office", "203.0.113.0/24"),
            block("home", "198.51.100.0/24"),
        ],
    )
}

#[test]
fn editing_an_attached_address_says_what_will_happen() {
    warns(
        edit(held("203.0.113.8"), &two_blocks()),
        "203.0.113.7 will be taken off pod shop/web and 203.0.113.8 put in its place",
    );
}

#[test]
fn a_held_address_does_not_go_to_another_block() {
    rejects(
        edit(held("198.51.100.8"), &two_blocks()),
        "cannot go to IPBlock \"home\"",
    );
    let mut named = held("203.0.113.7");
    named.spec.address = None;
    named.spec.block = Some("home".to_owned());
    rejects(edit(named, &two_blocks()), "cannot go to IPBlock \"home\"");
}

#[test]
fn an_edit_that_moves_nothing_asks_nothing() {
    let mut opened = held("203.0.113.7");
    opened.spec.allowed_namespaces = Some(vec!["shop".to_owned()]);
    opened.spec.reassign = true;
    accepts_silently(edit(opened, &snapshot_of([], [])));
    let mut leaving = held("198.51.100.8");
    leaving.metadata.deletion_timestamp = Some(read(json!("2026-01-01T00:00:00Z")));
    accepts_silently(edit(leaving, &snapshot_of([], [])));
}

#[test]
fn naming_the_block_that_it_lies_in_changes_nothing() {
    let mut named = held("203.0.113.7");
    named.spec.block = Some("office".to_owned());
    accepts_silently(edit(named, &two_blocks()));
}

#[test]
fn deleting_a_held_one_names_the_pod() {
    warns(
        validate_ip(&Change::Delete(held("203.0.113.7")), &office()),
        "is held by pod shop/web: address 203.0.113.7 will be taken off, and the pod becomes NotReady",
    );
    accepts_silently(validate_ip(&Change::Delete(partner_a()), &office()));
}

#[test]
fn the_reservation_is_looked_up_only_for_an_address_that_is_new() {
    assert!(address_wanted(&Change::Create(held("203.0.113.7"))).is_some());
    assert!(
        address_wanted(&Change::Update {
            old: held("203.0.113.7"),
            new: held("203.0.113.7")
        })
        .is_none()
    );
    assert!(address_wanted(&Change::Delete(held("203.0.113.7"))).is_none());
}
