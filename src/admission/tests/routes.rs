//! Routes of an IP are checked against the block that the IP means, also when the IP or the block is changed.

use serde_json::{Value, json};

use super::{accepts_silently, block, ip, read, rejects, snapshot_of, warns};
use crate::admission::ip::validate_ip;
use crate::admission::ipblock::validate_ipblock;
use crate::admission::{Operation, Verdict};
use crate::api::{Ip, IpBlock, Route};

const REFUSED: &str = "the route to 198.51.100.0/24 is within the internal network 198.51.100.0/24, which never sees \
                       the address (IPBlock \"closed\")";

fn block_with(name: &str, cidr: &str, internal: &[&str]) -> IpBlock {
    let mut block = block(name, cidr);
    block.spec.node = Some(read(json!({"internal": internal})));
    block
}

/// An update of an IP where pods of one block never reach 198.51.100.0/24 with their address, and those of the other do.
fn update(old: Ip, new: Ip) -> Verdict {
    let blocks = [
        block_with("closed", "203.0.113.0/25", &["198.51.100.0/24"]),
        block_with("open", "203.0.113.128/25", &[]),
    ];
    validate_ip(&Operation::Update { old, new }, &snapshot_of([], blocks))
}

fn partner_route() -> Vec<Route> {
    read(json!([{"to": "198.51.100.0/24"}]))
}

/// An IP that asks for this address, and has this one reserved.
fn asking(spec: Value, reserved: Value, routes: Vec<Route>) -> Ip {
    let mut ip = ip("partner-b", "uid-b", spec, reserved);
    ip.spec.routes = routes;
    ip
}

fn in_open(reserved: &Value, routes: Vec<Route>) -> Ip {
    let spec = json!({"address": "203.0.113.200", "block": "open"});
    asking(spec, reserved.clone(), routes)
}

fn in_closed(reserved: &Value, routes: Vec<Route>) -> Ip {
    let spec = json!({"address": "203.0.113.8", "block": "closed"});
    asking(spec, reserved.clone(), routes)
}

#[test]
fn routes_of_an_ip_that_goes_to_another_block_are_checked_against_that_block() {
    let open = json!({"address": "203.0.113.200", "block": "open"});
    let closed = json!({"address": "203.0.113.8", "block": "closed"});
    for before in [Vec::new(), partner_route()] {
        let (there, back) = (before.clone(), before);
        rejects(
            update(in_open(&open, there), in_closed(&open, partner_route())),
            REFUSED,
        );
        accepts_silently(update(
            in_closed(&closed, back),
            in_open(&closed, partner_route()),
        ));
    }
    // The block of the status is still the earlier one when the routes are added by a second update.
    rejects(
        update(
            in_closed(&open, Vec::new()),
            in_closed(&open, partner_route()),
        ),
        REFUSED,
    );
}

#[test]
fn routes_of_an_ip_that_names_no_block_are_checked_against_the_block_of_its_address() {
    for reserved in [
        Value::Null,
        json!({"address": "203.0.113.8", "block": "closed"}),
    ] {
        let with = |routes| asking(json!({"address": "203.0.113.8"}), reserved.clone(), routes);
        rejects(update(with(Vec::new()), with(partner_route())), REFUSED);
        let mut later = with(partner_route());
        later.spec.reassign = true;
        warns(update(with(partner_route()), later), REFUSED);
    }
}

#[test]
fn a_change_of_a_block_that_takes_the_effect_from_routes_of_ips_names_these_ips() {
    let in_office = |name: &str, address: &str, routes: Vec<Route>| {
        let status = json!({"address": address, "block": "office"});
        let mut ip = ip(name, name, json!({"address": address}), status);
        ip.spec.routes = routes;
        ip
    };
    let private: Vec<Route> = read(json!([{"to": "10.1.0.0/16"}]));
    // This one has no status yet.
    let mut new = in_office("new", "203.0.113.9", private.clone());
    (new.spec.block, new.status) = (Some("office".to_owned()), None);
    let mut elsewhere = in_office("elsewhere", "192.0.2.7", private.clone());
    elsewhere.status = Some(read(json!({"address": "192.0.2.7", "block": "home"})));
    let ips = [
        in_office("partner-a", "203.0.113.7", private),
        in_office("public", "203.0.113.8", partner_route()),
        in_office("none", "203.0.113.10", Vec::new()),
        new,
        elsewhere,
    ];
    let snapshot = snapshot_of(ips, []);
    let changed = |old: &Value, new: &Value| {
        let with = |node: &Value| {
            let mut block = block("office", "203.0.113.0/24");
            block.spec.node = read(node.clone());
            block
        };
        let (old, new) = (with(old), with(new));
        validate_ipblock(&Operation::Update { old, new }, &snapshot)
    };
    let lost = "spec.routes of these IPs have no effect any more with this spec.node of IPBlock \"office\": ";
    let all = json!({"internal": []});
    for narrower in [json!({}), json!({"internal": ["10.0.0.0/8"]})] {
        warns(changed(&all, &narrower), &format!("{lost}new, partner-a"));
        // Nothing is lost by these.
        accepts_silently(changed(&narrower, &all));
        accepts_silently(changed(&narrower, &narrower));
    }
    warns(
        changed(&all, &Value::Null),
        &format!("{lost}new, partner-a, public"),
    );
    accepts_silently(changed(&json!({"internal": ["10.0.0.0/8"]}), &json!({})));
}
