//! A route within the internal networks of its block is refused where it is new.

use serde_json::{Value, json};

use super::http::{Scripted, post, review, webhook};
use super::named::{of_block, refused_when_it_is_new, verdicts};
use super::{accepts_silently, block, ip, warns};
use crate::admission::ip::validate_ip;
use crate::admission::{Operation, Snapshot};
use crate::api::{Ip, IpBlock};

/// Rule: R8.23.
#[tokio::test]
async fn a_route_is_refused_only_by_the_present_networks_of_its_block() {
    let within = |internal: Value| {
        let mut home = block("home", "203.0.113.0/24");
        home.spec.node = Some(super::read(json!({ "internal": internal })));
        super::snapshot_of([], [home])
    };
    let (stale, present) = (
        within(json!(["198.51.100.0/24"])),
        within(json!(["10.0.0.0/8"])),
    );
    let spec =
        json!({"address": "203.0.113.8", "block": "home", "routes": [{"to": "198.51.100.0/24"}]});
    let new = review(&ip("partner-b", "uid-b", spec, Value::Null));
    let asked = async |cached: &Snapshot, fresh: &Snapshot| {
        let source = Scripted::new(cached.clone(), Some(fresh.clone()));
        let (router, _) = webhook(source);
        let (_, body) = post(&router, "/validate/ip", new.clone()).await;
        let answer: Value = serde_json::from_slice(&body).unwrap();
        answer["response"].clone()
    };
    assert_eq!(asked(&stale, &present).await["allowed"], true);
    let refused = asked(&stale, &stale).await;
    let message = refused["status"]["message"].as_str().unwrap();
    assert!(
        message.contains("is within the internal network 198.51.100.0/24"),
        "{message}"
    );
}

#[test]
fn an_internal_route_is_refused_and_a_useless_one_warned_of() {
    let mut home = block("home", "203.0.113.0/24");
    home.spec.node = Some(super::read(json!({"internal": ["10.0.0.0/8"]})));
    let asking = home.clone();
    home.spec.node = None;
    let verdict_in = |block: &IpBlock, to: &str| {
        let snapshot = super::snapshot_of([], [block.clone()]);
        let spec = json!({"address": "203.0.113.8", "block": "home", "routes": [{"to": to}]});
        let plain = ip(
            "partner-b",
            "uid-b",
            json!({"address": "203.0.113.8", "block": "home"}),
            Value::Null,
        );
        let new = ip("partner-b", "uid-b", spec, Value::Null);
        let update = Operation::Update {
            old: plain,
            new: new.clone(),
        };
        let later = Operation::Update {
            old: new.clone(),
            new: new.clone(),
        };
        (
            validate_ip(&Operation::Create(new), &snapshot),
            validate_ip(&update, &snapshot),
            validate_ip(&later, &snapshot),
        )
    };
    refused_when_it_is_new(
        verdict_in(&asking, "10.1.0.0/16"),
        "spec.routes of IP \"partner-b\": the route to 10.1.0.0/16 is within the internal network 10.0.0.0/8",
    );
    let (create, edit, _) = verdict_in(&asking, "198.51.100.0/24");
    accepts_silently(create);
    accepts_silently(edit);
    let (create, edit, later) = verdict_in(&home, "198.51.100.0/24");
    warns(create, "IPBlock \"home\" has no spec.node");
    warns(edit, "IPBlock \"home\" has no spec.node");
    accepts_silently(later);
}

#[test]
fn a_route_within_the_internal_networks_that_a_block_has_by_default_is_refused() {
    let words = "the route to 10.1.0.0/16 is within the internal network 10.0.0.0/8";
    let node = json!({"routes": [{"to": "10.1.0.0/16"}]});
    let routed = of_block(|block| block.spec.node = Some(super::read(node.clone())));
    // A person who changes another field learns of the stored route.
    warns(routed.2.clone(), words);
    refused_when_it_is_new(routed, words);
    // A partner can be in a private range if the block says what is internal.
    let node = json!({"routes": [{"to": "10.1.0.0/16"}], "internal": ["10.0.0.0/16"]});
    let (create, edit, later) = of_block(|block| block.spec.node = Some(super::read(node.clone())));
    assert!(create.is_ok() && edit.is_ok() && later.is_ok());
}

#[test]
fn a_route_of_an_ip_within_the_default_of_its_block_is_refused() {
    let mut home = block("home", "203.0.113.0/24");
    home.spec.node = Some(super::read(json!({})));
    let snapshot = super::snapshot_of([], [home]);
    let plain = ip(
        "partner-b",
        "uid-b",
        json!({"address": "203.0.113.8", "block": "home"}),
        Value::Null,
    );
    let later = |ip: &mut Ip| ip.spec.reassign = true;
    for (to, internal) in [
        ("100.64.0.0/16", "100.64.0.0/10"),
        ("203.0.113.64/26", "203.0.113.0/24"),
    ] {
        let partner = json!([{"to": to}]);
        let routed = verdicts(
            &plain,
            |ip| ip.spec.routes = super::read(partner.clone()),
            later,
            |operation| validate_ip(operation, &snapshot),
        );
        let words = format!("the route to {to} is within the internal network {internal}");
        warns(routed.2.clone(), &words);
        refused_when_it_is_new(routed, &words);
    }
}
