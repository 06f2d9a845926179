//! Tests with valid and invalid objects of an API server.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::core::DynamicObject;
use mooring_plan::cloud::Reassign;
use mooring_plan::names::{IpName, IpUid, PodKey, ResourceVersion};
use mooring_plan::objects::ClaimPhase;
use mooring_plan::objects::Namespaces;
use mooring_plan::step::Moved;
use serde_json::{Value, json};

use super::*;
use crate::api::{IpBlockStatus, IpStatus};

mod blocks;
mod reduced;
mod round_trip;
mod unreadable;
mod workloads;

pub(super) fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

pub(super) fn at(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

fn an_ip(spec: &Value, status: &Value) -> DynamicObject {
    object(json!({
        "apiVersion": "ip.wgtwo.com/v1alpha1",
        "kind": "IP",
        "metadata": {
            "name": "partner-a", "uid": "u-1", "resourceVersion": "42", "generation": 3,
            "finalizers": ["ip.wgtwo.com/detach"],
            "annotations": {"ip.wgtwo.com/take-from": "eni-9"},
        },
        "spec": spec,
        "status": status,
    }))
}

#[test]
fn an_ip_is_read() {
    let read = ip(&an_ip(
        &json!({"address": "203.0.113.7", "reassign": true, "allowedNamespaces": ["b", "a"]}),
        &json!({
            "address": "203.0.113.7", "block": "public", "claimed": true, "assigned": true,
            "pod": "shop/web-0", "podUID": "p-1", "node": "n-1", "instanceID": "i-1",
            "networkInterfaceID": "eni-1",
        }),
    ))
    .unwrap();
    assert_eq!(
        (read.name, read.uid),
        (IpName::from("partner-a"), IpUid::from("u-1"))
    );
    assert_eq!((read.version, read.generation), (ResourceVersion(42), 3));
    assert!(read.finalizer && !read.deleting);
    assert_eq!(read.take_from.unwrap().as_str(), "eni-9");
    let desired = read.desired.unwrap();
    assert_eq!(desired.reassign, Reassign::Allow);
    assert_eq!(desired.allowed_namespaces, Namespaces::listed(["a", "b"]));
    let claim = read.status.claim.unwrap();
    assert_eq!(claim.pod, PodKey::new("shop", "web-0"));
    assert!(
        matches!(claim.phase, ClaimPhase::Recorded(target) if target.place.interface.as_str() == "eni-1")
    );
}

#[test]
fn a_claim_without_a_place_is_detaching() {
    let status = json!({"claimed": true, "pod": "shop/web-0", "podUID": "p-1", "assigned": false});
    let read = ip(&an_ip(&json!({"block": "public"}), &status)).unwrap();
    assert_eq!(read.status.claim.unwrap().phase, ClaimPhase::Detaching);
}

#[test]
fn an_unreadable_spec_is_a_message_and_the_status_is_read() {
    for spec in [
        json!({"address": "203.0.113.007"}),
        json!({"address": "2001:db8::7"}),
        json!({}),
        json!({"address": 7}),
        json!("nonsense"),
        Value::Null,
    ] {
        let status = json!({"address": "203.0.113.7", "claimed": false, "assigned": false});
        let read = ip(&an_ip(&spec, &status)).unwrap();
        assert!(read.desired.is_err(), "{spec}");
        assert!(read.status.address.is_some(), "{spec}");
    }
}

#[test]
fn a_status_without_the_place_of_the_address_makes_the_ip_unreadable() {
    for status in [
        json!({"address": "nowhere", "claimed": false}),
        json!({"claimed": true, "pod": "shop/web-0"}),
        json!({"claimed": true, "pod": "web-0", "podUID": "p-1"}),
        json!({"claimed": true, "pod": "shop/web-0", "podUID": "p-1", "node": "n-1"}),
        json!({"claimed": true, "pod": "shop/web-0", "podUID": "p-1", "assigned": true}),
        json!({"claimed": "perhaps"}),
        json!({"previous": [{"address": "203.0.113.7"}]}),
        json!({"previous": [{"address": "here", "networkInterfaceID": "eni-1"}]}),
    ] {
        let error = ip(&an_ip(&json!({"block": "public"}), &status)).unwrap_err();
        assert!(
            error.to_string().starts_with("IP partner-a cannot be read"),
            "{status}: {error}"
        );
    }
}

#[test]
fn a_version_that_is_no_number_is_refused() {
    let mut odd = an_ip(&json!({"block": "public"}), &Value::Null);
    odd.metadata.resource_version = Some("abc".to_owned());
    assert!(ip(&odd).is_err());
}

#[test]
fn a_condition_with_an_unknown_reason_is_read_as_absent() {
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 2})
    };
    let status = json!({"conditions": [
        condition("Ready", "True", "Ready"),
        condition("Reserved", "True", "FromAnotherVersion"),
        condition("Attached", "Unknown", "Attached"),
    ]});
    let read = ip(&an_ip(&json!({"block": "public"}), &status))
        .unwrap()
        .status
        .conditions;
    assert_eq!(read.ready.unwrap().generation, 2);
    assert_eq!((read.reserved, read.attached), (None, None));
}

#[test]
fn status_fields_of_other_versions_and_times_are_kept() {
    let condition = |kind: &str| Condition {
        type_: kind.to_owned(),
        status: "True".to_owned(),
        reason: "Ready".to_owned(),
        message: String::new(),
        observed_generation: Some(1),
        last_transition_time: at(1),
    };
    let before = IpBlockStatus {
        conditions: vec![condition("FromTomorrow"), condition("Ready")],
        ..Default::default()
    };
    let status = read_block_status(&before);
    let patch = block_status_patch(&status, &before, &at(9)).unwrap();
    assert_eq!(patch["conditions"][0]["type"], "FromTomorrow");
    assert_eq!(
        patch["conditions"][1]["lastTransitionTime"],
        "1970-01-01T00:00:01Z"
    );
    assert_eq!(patch["subnetCIDRs"], Value::Null);
}

#[test]
fn removed_fields_are_written_as_null() {
    let patch = ip_status_patch(
        &mooring_plan::objects::IpStatus::default(),
        &IpStatus::default(),
        Moved::No,
        &at(1),
    )
    .unwrap();
    for field in [
        "podUID",
        "networkInterfaceID",
        "previous",
        "refused",
        "conditions",
        "lastMoveTime",
    ] {
        assert_eq!(patch.get(field), Some(&Value::Null), "{field}");
    }
    assert_eq!(patch["claimed"], false);
}
