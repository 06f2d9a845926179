//! Blocks and reservations.

use std::time::Duration;

use kube::core::DynamicObject;
use mooring_plan::names::{IpName, IpUid};
use mooring_plan::objects::Namespaces;
use serde_json::{Value, json};

use super::object;
use crate::api::read::{block, parent, reservation};

#[test]
fn a_reservation_names_the_owner_of_the_address() {
    let read = |metadata: Value, parent: Value| {
        let mut metadata = metadata;
        metadata["name"] = json!("203.0.113.7");
        metadata["uid"] = json!("a-1");
        metadata["resourceVersion"] = json!("9");
        reservation(&object(json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": metadata,
            "spec": {"parentRef": parent},
        })))
        .unwrap()
    };
    let ours = read(
        json!({
            "labels": {"ipaddress.kubernetes.io/managed-by": "ip.wgtwo.com", "ip.wgtwo.com/ip-uid": "u-1"},
            "finalizers": ["ip.wgtwo.com/attached"],
            "ownerReferences": [{"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP", "name": "partner-a",
                "uid": "u-1"}],
        }),
        serde_json::to_value(parent(&IpName::from("partner-a"))).unwrap(),
    );
    assert_eq!(ours.parent, Some(IpName::from("partner-a")));
    assert_eq!(ours.parent_text, "IP partner-a");
    assert_eq!(
        (ours.label.as_ref(), ours.owner.as_ref()),
        (Some(&IpUid::from("u-1")), Some(&IpUid::from("u-1")))
    );
    assert!(ours.managed && ours.finalizer);

    let service = read(
        json!({"labels": {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}}),
        json!({"group": "", "resource": "services", "namespace": "default", "name": "kubernetes"}),
    );
    assert_eq!(service.parent_text, "Service default/kubernetes");
    assert_eq!(
        (service.parent, service.label, service.owner),
        (None, None, None)
    );
    assert!(!service.managed);
}

fn a_block(spec: &Value) -> DynamicObject {
    object(json!({
        "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock",
        "metadata": {"name": "public", "uid": "b-1", "resourceVersion": "5", "generation": 1},
        "spec": spec,
        "status": {"capacity": "many"},
    }))
}

#[test]
fn a_block_is_read_even_if_its_status_is_unreadable() {
    let read = block(&a_block(&json!({
        "cidr": "203.0.113.0/24", "subnetID": "subnet-1", "excluded": ["203.0.113.9"], "failoverAfter": "1m30s",
    })))
    .unwrap();
    let spec = read.spec.unwrap();
    assert_eq!(spec.failover_after, Duration::from_secs(90));
    assert_eq!(spec.range.excluded().len(), 1);
    assert_eq!(spec.allowed_namespaces, Namespaces::default());
    assert_eq!(read.status.capacity, 0);
}

#[test]
fn an_unreadable_spec_of_a_block_is_a_message() {
    for spec in [
        json!({"cidr": "203.0.113.5/24", "subnetID": "subnet-1"}),
        json!({"cidr": "203.0.113.0/24", "subnetID": "subnet-1", "failoverAfter": "soon"}),
        // Found by fuzzing: the reader panicked at these.
        json!({"cidr": "203.0.113.0/24", "subnetID": "subnet-1", "failoverAfter": "1h-5m"}),
        json!({"cidr": "203.0.113.0/24", "subnetID": "subnet-1", "failoverAfter": "99999999999999999999999h"}),
        json!({"cidr": "203.0.113.0/24"}),
        json!({"cidr": "203.0.113.0/24", "subnetID": ""}),
    ] {
        assert!(block(&a_block(&spec)).unwrap().spec.is_err(), "{spec}");
    }
}
