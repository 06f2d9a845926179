//! Admission and the controller read a spec in the same way: the controller can read every spec that admission allows,
//! and admission denies every spec that the controller cannot read.

use kube::core::DynamicObject;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{block, partner_a, read, snapshot_of};
use crate::admission::ip::validate_ip;
use crate::admission::ipblock::validate_ipblock;
use crate::admission::{Operation, Snapshot};
use crate::api::read as reader;
use crate::api::{Ip, IpBlock};

/// The object as the API server stores it: with an identity, without the status of the request.
fn stored(kind: &str, spec: &Value) -> DynamicObject {
    read(json!({
        "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": kind,
        "metadata": {"name": "new", "uid": "uid-new", "resourceVersion": "7"}, "spec": spec,
    }))
}

fn created<K: serde::de::DeserializeOwned>(kind: &str, spec: &Value) -> Option<K> {
    let object = serde_json::to_value(stored(kind, spec)).unwrap();
    serde_json::from_value(object).ok()
}

/// Texts for any field: valid and invalid addresses, CIDRs, names and times, and the empty text.
fn text() -> impl Strategy<Value = Value> {
    proptest::sample::select(vec![
        json!("203.0.113.9"),
        json!("203.0.113.009"),
        json!("203.0.113.0/24"),
        json!("198.51.100.0/24"),
        json!("198.51.100.1/24"),
        json!("2001:db8::7"),
        json!("office"),
        json!("subnet-0123456789abcdef0"),
        json!("30s"),
        json!("5m30"),
        json!("9999999999s"),
        json!(""),
        json!(7),
        json!(null),
    ])
}

/// A spec with some of these fields. The first text of each field is a valid value.
fn spec(fields: [(&'static str, Value); 4]) -> impl Strategy<Value = Value> {
    let field = |(name, good): (&'static str, Value)| {
        let value = prop_oneof![2 => Just(Some(good)), 1 => text().prop_map(Some), 1 => Just(None)];
        value.prop_map(move |value| value.map(|value| (name.to_owned(), value)))
    };
    fields
        .map(field)
        .prop_map(|fields| Value::Object(fields.into_iter().flatten().collect()))
}

fn ip_specs() -> impl Strategy<Value = Value> {
    spec([
        ("address", json!("203.0.113.9")),
        ("block", json!("office")),
        ("reassign", json!(true)),
        ("allowedNamespaces", json!(["shop"])),
    ])
}

fn block_specs() -> impl Strategy<Value = Value> {
    spec([
        ("cidr", json!("198.51.100.0/24")),
        ("subnetID", json!("subnet-0123456789abcdef0")),
        ("failoverAfter", json!("1m30s")),
        ("excluded", json!(["198.51.100.7"])),
    ])
}

fn snapshot() -> Snapshot {
    snapshot_of([partner_a()], [block("office", "203.0.113.0/24")])
}

/// Whether the controller can read the spec of such an `IP`.
fn ip_is_read(spec: &Value) -> bool {
    reader::ip(&stored("IP", spec)).is_ok_and(|ip| ip.desired.is_ok())
}

fn block_is_read(spec: &Value) -> bool {
    reader::block(&stored("IPBlock", spec)).is_ok_and(|block| block.spec.is_ok())
}

/// Whether admission allows such an `IP`, as a creation or as an update. An object that is not an `IP` is denied.
fn ip_is_granted(spec: &Value) -> bool {
    let Some(new) = created::<Ip>("IP", spec) else {
        return false;
    };
    let mut old = partner_a();
    old.metadata.clone_from(&new.metadata);
    let create = validate_ip(&Operation::Create(new.clone()), &snapshot()).is_ok();
    let update = validate_ip(&Operation::Update { old, new }, &snapshot()).is_ok();
    create || update
}

fn block_is_granted(spec: &Value) -> bool {
    let Some(new) = created::<IpBlock>("IPBlock", spec) else {
        return false;
    };
    let mut old = block("new", "192.0.2.0/24");
    old.spec.subnet_id.clone_from(&new.spec.subnet_id);
    let create = validate_ipblock(&Operation::Create(new.clone()), &snapshot()).is_ok();
    let update = validate_ipblock(&Operation::Update { old, new }, &snapshot()).is_ok();
    create || update
}

#[test]
fn every_kind_of_unreadable_spec_is_denied() {
    for spec in [
        json!({}),
        json!({"block": ""}),
        json!({"address": "203.0.113.009", "block": "office"}),
        json!({"address": "2001:db8::9"}),
        json!({"address": 7}),
    ] {
        assert!(!ip_is_read(&spec), "{spec}");
        assert!(!ip_is_granted(&spec), "{spec}");
    }
    let block = |field: &str, value: Value| {
        let mut spec = json!({"cidr": "198.51.100.0/24", "subnetID": "subnet-0123456789abcdef0"});
        assert!(block_is_read(&spec) && block_is_granted(&spec), "{spec}");
        spec[field] = value;
        spec
    };
    for spec in [
        block("cidr", json!("198.51.100.1/24")),
        block("cidr", json!(null)),
        block("excluded", json!(["2001:db8::9"])),
        block("excluded", json!("198.51.100.7")),
        block("failoverAfter", json!("5m30")),
        block("subnetID", json!("")),
    ] {
        assert!(!block_is_read(&spec), "{spec}");
        assert!(!block_is_granted(&spec), "{spec}");
    }
}

proptest! {
    #[test]
    fn every_allowed_ip_can_be_read(spec in ip_specs()) {
        prop_assert!(ip_is_read(&spec) || !ip_is_granted(&spec), "{spec}");
    }

    #[test]
    fn every_allowed_block_can_be_read(spec in block_specs()) {
        prop_assert!(block_is_read(&spec) || !block_is_granted(&spec), "{spec}");
    }
}
