//! Tests of the fields that are kept while an object is parsed.

use kube::api::{DynamicObject, ObjectList};
use serde_json::{Value, json};

use crate::api::read::{NodeFields, PodFields, Reduced, Whole, node, pod};

fn managed() -> Value {
    json!([{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {}}}])
}

fn a_pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "p-1", "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-02T00:00:00Z",
            "deletionGracePeriodSeconds": 30, "managedFields": managed(),
            "labels": {"ip.wgtwo.com/ip": "partner"}, "finalizers": ["theirs"],
            "annotations": {"ip.wgtwo.com/ip": "partner", "ip.wgtwo.com/ip-uid": "u-1",
                "kubectl.kubernetes.io/last-applied-configuration": "{}"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "r-1",
                "controller": true}]},
        "spec": {"nodeName": "n-1", "readinessGates": [{"conditionType": "ip.wgtwo.com/attached"},
                {"conditionType": "example.com/other"}],
            "containers": [{"name": "web", "image": "web:1", "env": [{"name": "A", "value": "B"}]}],
            "volumes": [{"name": "v", "emptyDir": {}}]},
        "status": {"phase": "Running", "podIP": "10.0.0.1",
            "conditions": [{"type": "ContainersReady", "status": "True"},
                {"type": "ip.wgtwo.com/attached", "status": "False", "reason": "Waiting"}],
            "containerStatuses": [{"name": "web", "image": "web:1", "imageID": "i", "ready": true,
                "restartCount": 0, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]},
    })
}

fn a_node() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n-1", "uid": "n-u", "resourceVersion": "8", "managedFields": managed(),
            "labels": {"node.kubernetes.io/instance-type": "m5.large"}},
        "spec": {"providerID": "aws:///eu-west-1a/i-1", "podCIDR": "10.0.0.0/24",
            "taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": null}]},
        "status": {"images": [{"names": ["web:1"], "sizeBytes": 7}],
            "nodeInfo": {"bootID": "1b4e28ba-2fa1-11d2-883f-0016d3cca427", "kernelVersion": "6.12"},
            "conditions": [{"type": "Ready", "status": "True", "message": "it is ready"}]},
    })
}

fn whole(object: &Value) -> DynamicObject {
    serde_json::from_value(object.clone()).unwrap()
}

#[test]
fn a_pod_is_read_as_if_all_of_it_were_kept() {
    let text = a_pod().to_string();
    let reduced: DynamicObject = serde_json::from_str::<Reduced<PodFields>>(&text)
        .unwrap()
        .into();
    assert_eq!(pod(&reduced).unwrap(), pod(&whole(&a_pod())).unwrap());
    assert!(!reduced.data.to_string().contains("web:1"), "{reduced:?}");
    assert!(reduced.data.pointer("/spec/volumes").is_none());
}

#[test]
fn a_node_is_read_as_if_all_of_it_were_kept_and_taints_of_others_are_whole() {
    let text = a_node().to_string();
    let reduced: DynamicObject = serde_json::from_str::<Reduced<NodeFields>>(&text)
        .unwrap()
        .into();
    assert_eq!(node(&reduced).unwrap(), node(&whole(&a_node())).unwrap());
    assert_eq!(reduced.data["spec"]["taints"], a_node()["spec"]["taints"]);
    assert!(node(&reduced).unwrap().boot.is_some());
    assert!(reduced.data.pointer("/status/images").is_none());
    let version = "/status/nodeInfo/kernelVersion";
    assert!(reduced.data.pointer(version).is_none());
}

#[test]
fn only_managed_fields_and_the_last_applied_annotation_of_an_ip_are_removed() {
    let ip = |annotations: Value, managed: Option<Value>| {
        let mut ip = json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP",
            "metadata": {"name": "partner", "uid": "u-1", "generation": 2, "annotations": annotations},
            "spec": {"block": "b"},
            "status": {"fromTomorrow": [1, -1, 0.5, true, null, "text", {"a": {}}]}});
        if let Some(managed) = managed {
            ip["metadata"]["managedFields"] = managed;
        }
        ip
    };
    let last = "kubectl.kubernetes.io/last-applied-configuration";
    let text = ip(json!({"theirs": "kept", last: "{}"}), Some(managed())).to_string();
    let reduced: DynamicObject = serde_json::from_str::<Reduced<Whole>>(&text)
        .unwrap()
        .into();
    assert_eq!(reduced, whole(&ip(json!({"theirs": "kept"}), None)));
}

#[test]
fn a_part_of_any_shape_is_taken_so_that_it_hides_no_other_object() {
    for part in [
        json!(null),
        json!({}),
        json!(7),
        json!(-7),
        json!(0.5),
        json!("x"),
        json!(true),
        json!([1, "x"]),
    ] {
        let mut broken = a_pod();
        broken["spec"] = part.clone();
        let list = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [broken, a_pod()]});
        let list: ObjectList<Reduced<PodFields>> = serde_json::from_str(&list.to_string()).unwrap();
        let [first, second] = <[_; 2]>::try_from(list.items)
            .unwrap()
            .map(DynamicObject::from);
        assert_eq!(first.data["spec"], part);
        let empty = part.is_null() || part.is_object();
        assert_eq!(pod(&first).is_ok(), empty, "{part}");
        assert!(pod(&second).is_ok(), "{part}");
    }
}
