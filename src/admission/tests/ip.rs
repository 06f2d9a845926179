//! An `IP` has an address that is in a block and belongs to no other `IP`.

use mooring_plan::admission::address::Parent;
use serde_json::{Value, json};

use super::{
    accepts, accepts_silently, block, detaching, held, ip, office, partner_a, read, rejects,
    snapshot_of, warns,
};
use crate::admission::ip::{address_wanted, validate_ip};
use crate::admission::{Operation, Snapshot, Verdict};
use crate::api::Ip;

fn new(spec: Value) -> Ip {
    ip("partner-b", "uid-b", spec, Value::Null)
}

fn create(spec: Value, snapshot: &Snapshot) -> Verdict {
    validate_ip(&Operation::Create(new(spec)), snapshot)
}

#[test]
fn an_address_must_be_in_a_block() {
    accepts_silently(create(json!({"address": "203.0.113.8"}), &office()));
    accepts_silently(create(
        json!({"address": "203.0.113.8", "block": "office"}),
        &office(),
    ));
    accepts_silently(create(json!({"block": "office"}), &office()));
    rejects(
        create(json!({"address": "198.51.100.8"}), &office()),
        "is in no IPBlock. Existing blocks: office (203.0.113.0/24). Use an address of one of them, or create a \
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
fn the_block_must_be_named_if_two_match() {
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
fn excluded_and_aws_reserved_addresses_are_refused() {
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
        "that AWS reserves in subnet",
    );
    rejects(
        create(json!({"address": "203.0.113.255"}), &office()),
        "that AWS reserves in subnet",
    );
}

#[test]
fn aws_reserved_addresses_depend_on_the_subnet() {
    let mut part = block("part", "203.0.113.16/28");
    part.status.get_or_insert_default().subnet_cidrs = vec!["203.0.113.0/24".to_owned()];
    accepts_silently(create(
        json!({"address": "203.0.113.16"}),
        &snapshot_of([], [part]),
    ));
}

#[test]
fn aws_reserved_addresses_pass_before_the_subnet_is_known() {
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
    let other = office().with_parent(Some(Parent::Ip("partner-z".into())));
    rejects(
        create(json!({"address": "203.0.113.8"}), &other),
        "IP \"partner-z\", which has reserved it",
    );
    let own = office().with_parent(Some(Parent::Ip("partner-b".into())));
    accepts_silently(create(json!({"address": "203.0.113.8"}), &own));
}

#[test]
fn a_block_that_is_being_deleted_accepts_no_ip() {
    let mut deleting = block("office", "203.0.113.0/24");
    deleting.metadata.deletion_timestamp = Some(read(json!("2026-01-01T00:00:00Z")));
    rejects(
        create(json!({"block": "office"}), &snapshot_of([], [deleting])),
        "IPBlock \"office\" of IP \"partner-b\" is being deleted",
    );
}

#[test]
fn a_full_block_is_reported_at_creation() {
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
fn ipv6_is_refused_with_a_reason() {
    rejects(
        create(json!({"address": "2001:db8::1"}), &office()),
        "is IPv6, which is not supported yet",
    );
}

fn edit(new: Ip, snapshot: &Snapshot) -> Verdict {
    validate_ip(
        &Operation::Update {
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
fn editing_an_attached_address_warns_of_the_effect() {
    warns(
        edit(held("203.0.113.8"), &two_blocks()),
        "203.0.113.7 will be unassigned from pod shop/web and replaced by 203.0.113.8",
    );
}

#[test]
fn a_held_address_cannot_change_its_block() {
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
fn an_edit_that_moves_nothing_has_no_warning() {
    let mut opened = held("203.0.113.7");
    opened.spec.allowed_namespaces = Some(vec!["shop".to_owned()]);
    opened.spec.reassign = true;
    accepts_silently(edit(opened, &snapshot_of([], [])));
    let mut leaving = held("198.51.100.8");
    leaving.metadata.deletion_timestamp = Some(read(json!("2026-01-01T00:00:00Z")));
    accepts_silently(edit(leaving, &snapshot_of([], [])));
}

#[test]
fn naming_the_present_block_changes_nothing() {
    let mut named = held("203.0.113.7");
    named.spec.block = Some("office".to_owned());
    accepts_silently(edit(named, &two_blocks()));
}

#[test]
fn deleting_a_held_ip_names_the_pod() {
    warns(
        validate_ip(&Operation::Delete(held("203.0.113.7")), &office()),
        "is held by pod shop/web: address 203.0.113.7 will be unassigned, and the pod becomes NotReady",
    );
    accepts_silently(validate_ip(&Operation::Delete(partner_a()), &office()));
}

fn edit_while_detaching(new: Ip) -> Verdict {
    let old = detaching("203.0.113.7");
    validate_ip(&Operation::Update { old, new }, &two_blocks())
}

#[test]
fn an_address_that_is_being_detached_changes_its_block_later() {
    let text = rejects(
        edit_while_detaching(detaching("198.51.100.8")),
        "IP \"partner-a\" cannot go to IPBlock \"home\" yet, because its address 203.0.113.7 is still being detached",
    );
    assert!(text.contains("try again when CLAIMED is false"), "{text}");
    // The pod is gone: nothing can be done about it.
    assert!(!text.contains("shop/web"), "{text}");
}

#[test]
fn a_pod_that_is_gone_is_not_warned_of() {
    accepts_silently(edit_while_detaching(detaching("203.0.113.8")));
    let gone = validate_ip(&Operation::Delete(detaching("203.0.113.7")), &office());
    let warnings = accepts(gone).warnings;
    let expected =
        "IP \"partner-a\" stays until its address 203.0.113.7 is detached (see its conditions)";
    assert_eq!(warnings, [expected]);
}

#[test]
fn the_reservation_is_read_only_for_a_new_address() {
    assert!(address_wanted(&Operation::Create(held("203.0.113.7"))).is_some());
    assert!(
        address_wanted(&Operation::Update {
            old: held("203.0.113.7"),
            new: held("203.0.113.7")
        })
        .is_none()
    );
    assert!(address_wanted(&Operation::Delete(held("203.0.113.7"))).is_none());
}
