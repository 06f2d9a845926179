//! Tests of the webhook without a cluster.
#![allow(
    clippy::needless_pass_by_value,
    reason = "objects are written in place, as JSON"
)]

mod authorize;
mod drain;
mod fresh_reads;
mod http;
mod internal_routes;
mod ip;
mod ipblock;
mod kept;
mod kube_reader;
mod late;
mod limits;
mod named;
mod pod_create;
mod pod_refused;
mod properties;
mod readable;
mod review;
mod routes;
mod server;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Allowed, KnownIp, Snapshot, Verdict};
use crate::api::{Ip, IpBlock};

fn read<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

/// An `IP` with this UID and a reservation that follows its spec.
/// It allows all namespaces unless its spec says otherwise.
fn ip(name: &str, uid: &str, mut spec: Value, status: Value) -> Ip {
    open(&mut spec);
    read(json!({
        "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP",
        "metadata": {"name": name, "uid": uid}, "spec": spec, "status": status,
    }))
}

fn open(spec: &mut Value) {
    if spec["allowedNamespaces"].is_null() {
        spec["allowedNamespaces"] = json!(["*"]);
    }
}

/// A block with a status, which allows all namespaces.
fn block(name: &str, cidr: &str) -> IpBlock {
    read(json!({
        "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock", "metadata": {"name": name},
        "spec": {"cidr": cidr, "subnetID": "subnet-0123456789abcdef0", "failoverAfter": "30s",
            "allowedNamespaces": ["*"]},
        "status": {"subnetCIDRs": [cidr], "free": 9},
    }))
}

fn partner_a() -> Ip {
    ip(
        "partner-a",
        "uid-a",
        json!({"address": "203.0.113.7"}),
        json!({"address": "203.0.113.7", "block": "office"}),
    )
}

/// An `IP` that a pod holds and that asks for this address.
fn held(address: &str) -> Ip {
    let status = json!({"address": "203.0.113.7", "block": "office", "claimed": true, "assigned": true, "pod": "shop/web"});
    ip("partner-a", "uid-a", json!({"address": address}), status)
}

/// An `IP` whose pod is gone and whose address is not detached yet. It asks for this address.
fn detaching(address: &str) -> Ip {
    let status = json!({"address": "203.0.113.7", "block": "office", "claimed": true, "pod": "shop/web", "podUID": "u",
        "previous": [{"address": "203.0.113.7", "networkInterfaceID": "eni-1"}]});
    ip("partner-a", "uid-a", json!({"address": address}), status)
}

fn snapshot_of(
    ips: impl IntoIterator<Item = Ip>,
    blocks: impl IntoIterator<Item = IpBlock>,
) -> Snapshot {
    Snapshot::new(
        ips.into_iter()
            .map(|ip| Arc::new(KnownIp::from(&ip)))
            .collect(),
        blocks.into_iter().map(Arc::new).collect(),
    )
}

/// One block with one free IP.
fn office() -> Snapshot {
    snapshot_of([partner_a()], [block("office", "203.0.113.0/24")])
}

/// A pod that asks for `partner-a`, with these fields in its spec.
fn asking(spec: Value) -> Pod {
    pod(json!({"ip.wgtwo.com/ip": "partner-a"}), spec)
}

fn pod(annotations: Value, mut spec: Value) -> Pod {
    spec["containers"] = json!([{"name": "main", "image": "example/main"}]);
    read(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "annotations": annotations}, "spec": spec,
    }))
}

#[track_caller]
fn accepts(verdict: Verdict) -> Allowed {
    verdict.unwrap_or_else(|denial| panic!("refused: {denial}"))
}

#[track_caller]
fn accepts_silently(verdict: Verdict) {
    let allowed = accepts(verdict);
    let silently = Allowed {
        uses: allowed.uses.clone(),
        granted: allowed.granted.clone(),
        ..Allowed::silently()
    };
    assert_eq!(allowed, silently);
}

/// Checks that the verdict is a refusal that says what to do and contains this text. Returns the message.
#[track_caller]
fn rejects(verdict: Verdict, sentence_part: &str) -> String {
    let denial = verdict.expect_err(sentence_part);
    let sentence = denial.to_string();
    assert!(sentence.contains(sentence_part), "{sentence}");
    assert!(!denial.way_out().trim().is_empty(), "{sentence}");
    sentence
}

#[track_caller]
fn warns(verdict: Verdict, sentence_part: &str) {
    let warnings = accepts(verdict).warnings;
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains(sentence_part)),
        "{warnings:?}"
    );
}
