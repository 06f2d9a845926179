//! A block overlaps no other, and no IP loses its address by a change of it.

use serde_json::{Value, json};

use super::{accepts_silently, block, ip, office, partner_a, read, rejects, snapshot_of, warns};
use crate::admission::ipblock::validate_ipblock;
use crate::admission::{Operation, Snapshot, Verdict};
use crate::api::{Ip, IpBlock};

fn create(block: IpBlock, snapshot: &Snapshot) -> Verdict {
    validate_ipblock(&Operation::Create(block), snapshot)
}

fn edit(change: impl FnOnce(&mut IpBlock), snapshot: &Snapshot) -> Verdict {
    let old = block("office", "203.0.113.0/24");
    let mut new = old.clone();
    change(&mut new);
    validate_ipblock(&Operation::Update { old, new }, snapshot)
}

#[test]
fn a_range_is_refused_with_its_canonical_form() {
    rejects(
        create(block("home", "203.0.113.5/24"), &office()),
        "write \"203.0.113.0/24\"",
    );
    rejects(
        create(block("home", "2001:db8::/64"), &office()),
        "is IPv6, which is not supported yet",
    );
    rejects(
        create(block("home", "198.51.100.7"), &office()),
        "write \"198.51.100.7/32\"",
    );
    let mut slip = block("home", "198.51.100.0/24");
    slip.spec.excluded = vec!["198.51.100.5/28".to_owned()];
    rejects(create(slip, &office()), "write \"198.51.100.0/28\"");
}

#[test]
fn two_blocks_do_not_overlap() {
    accepts_silently(create(block("home", "198.51.100.0/24"), &office()));
    rejects(
        create(block("part", "203.0.113.128/25"), &office()),
        "overlaps IPBlock \"office\" (203.0.113.0/24)",
    );
    rejects(
        create(block("all", "203.0.0.0/16"), &office()),
        "overlaps IPBlock \"office\"",
    );
    let both = snapshot_of(
        [],
        [
            block("office", "203.0.113.0/24"),
            block("home", "203.0.112.0/24"),
        ],
    );
    rejects(
        edit(|block| block.spec.cidr = "203.0.112.0/23".to_owned(), &both),
        "overlaps IPBlock \"home\"",
    );
}

#[test]
fn an_exclusion_outside_the_range_is_warned_of() {
    let mut slip = block("home", "198.51.100.0/24");
    slip.spec.excluded = vec!["198.51.101.5".to_owned()];
    warns(
        create(slip, &office()),
        "198.51.101.5/32, which is not in 198.51.100.0/24",
    );
}

fn many() -> Snapshot {
    let ips = (0..7).map(|n| {
        let address = format!("203.0.113.{}", 200 + n);
        let status = json!({"address": address, "block": "office"});
        ip(
            &format!("partner-{n}"),
            "uid",
            json!({"block": "office"}),
            status,
        )
    });
    snapshot_of(ips, [block("office", "203.0.113.0/24")])
}

#[test]
fn an_edit_of_a_block_keeps_the_addresses_of_its_ips() {
    let shrunk = |block: &mut IpBlock| block.spec.cidr = "203.0.113.0/25".to_owned();
    rejects(
        edit(shrunk, &many()),
        "partner-4 (203.0.113.204) and 2 more",
    );
    accepts_silently(edit(shrunk, &office()));
    let excluded = |block: &mut IpBlock| block.spec.excluded = vec!["203.0.113.7".to_owned()];
    rejects(edit(excluded, &office()), "partner-a (203.0.113.7)");
    accepts_silently(edit(
        |block| block.spec.cidr = "203.0.112.0/23".to_owned(),
        &many(),
    ));
}

#[test]
fn a_block_with_ips_is_not_deleted() {
    let delete = |snapshot: &Snapshot| {
        validate_ipblock(
            &Operation::Delete(block("office", "203.0.113.0/24")),
            snapshot,
        )
    };
    rejects(delete(&many()), "partner-4 and 2 more");
    rejects(delete(&office()), "has IPs: partner-a");
    let waiting = ip(
        "partner-b",
        "uid-b",
        json!({"block": "office"}),
        Value::Null,
    );
    rejects(delete(&snapshot_of([waiting], [])), "has IPs: partner-b");
    accepts_silently(delete(&snapshot_of([], [])));
    let mut leaving: Ip = partner_a();
    leaving.metadata.deletion_timestamp = Some(read(json!("2026-01-01T00:00:00Z")));
    accepts_silently(delete(&snapshot_of([leaving], [])));
}

#[test]
fn the_subnet_stays() {
    rejects(
        edit(
            |block| block.spec.subnet_id = "subnet-1".to_owned(),
            &office(),
        ),
        "spec.subnetID of IPBlock \"office\" cannot be changed",
    );
}

#[test]
fn narrowing_the_namespaces_warns_of_the_pods_that_stay() {
    let held =
        json!({"address": "203.0.113.7", "block": "office", "claimed": true, "pod": "shop/web"});
    let snapshot = snapshot_of(
        [ip(
            "partner-a",
            "uid-a",
            json!({"address": "203.0.113.7"}),
            held,
        )],
        [block("office", "203.0.113.0/24")],
    );
    let only = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    warns(
        edit(
            |block| block.spec.allowed_namespaces = only(&["bank"]),
            &snapshot,
        ),
        "not allowed any more: shop/web",
    );
    warns(
        edit(
            |block| block.spec.allowed_namespaces = only(&["shop"]),
            &snapshot,
        ),
        "none has one now",
    );
    accepts_silently(edit(|_| {}, &snapshot));
}

#[test]
fn a_block_that_is_being_deleted_can_be_changed() {
    let leaving = |block: &mut IpBlock| {
        block.spec.cidr = "nonsense".to_owned();
        block.metadata.deletion_timestamp = Some(read(json!("2026-01-01T00:00:00Z")));
    };
    accepts_silently(edit(leaving, &many()));
}
