//! Pods, nodes and `ReplicaSet`s.

use mooring_plan::names::{
    BootId, InstanceId, IpName, IpUid, PodKey, PodUid, ReplicaSetUid, WorkloadUid,
};
use mooring_plan::objects::{Controller, Gate, Handover};
use serde_json::{Value, json};

use super::object;
use crate::api::read::{node, pod, replica_set, template_selector};

fn a_pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-0", "namespace": "shop", "uid": "p-1", "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:10Z",
            "annotations": {"ip.wgtwo.com/ip": "203.0.113.7", "ip.wgtwo.com/ip-uid": "u-1",
                "ip.wgtwo.com/handover": "running"},
            "labels": {"ip.wgtwo.com/ip": "partner-a"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-abc",
                "uid": "r-1", "controller": true}],
        },
        "spec": {
            "nodeName": "n-1", "containers": [{"name": "a"}, {"name": "b"}],
            "readinessGates": [{"conditionType": "ip.wgtwo.com/attached"},
                {"conditionType": "example.com/warm"}, {"conditionType": "example.com/known"}],
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "ContainersReady", "status": "True"},
                {"type": "example.com/known", "status": "True"},
                {"type": "ip.wgtwo.com/attached", "status": "False", "reason": "Claimed"},
            ],
            "containerStatuses": [
                {"name": "a", "image": "i", "imageID": "i", "ready": true, "restartCount": 0,
                    "state": {"running": {}}},
                {"name": "b", "image": "i", "imageID": "i", "ready": false, "restartCount": 0,
                    "state": {"waiting": {}}},
            ],
        },
    })
}

#[test]
fn a_pod_is_read() {
    let read = pod(&object(a_pod())).unwrap();
    assert_eq!(read.uid, PodUid::from("p-1"));
    assert_eq!(read.key, PodKey::new("shop", "web-0"));
    assert!(read.annotated && read.gated && read.containers_ready && !read.ended);
    assert!(!read.containers_running, "one of two containers waits");
    assert_eq!(read.unready_gates, ["example.com/warm".to_owned()].into());
    assert_eq!(read.handover, Handover::Running);
    assert_eq!(
        read.gate,
        Some(Gate {
            status: false,
            reason: "Claimed".to_owned()
        })
    );
    assert_eq!(
        read.controller,
        Some(Controller::ReplicaSet(
            "web-abc".to_owned(),
            ReplicaSetUid::from("r-1")
        ))
    );
    assert_eq!(
        (read.label, read.ip),
        (Some(IpName::from("partner-a")), Some(IpUid::from("u-1")))
    );
    assert_eq!(read.deleting, None);
}

#[test]
fn a_deleted_pod_is_read_with_its_grace_period() {
    let mut value = a_pod();
    value["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:01:00Z");
    value["metadata"]["deletionGracePeriodSeconds"] = json!(45);
    value["status"]["containerStatuses"][1]["state"] = json!({"running": {}});
    value["status"]["phase"] = json!("Failed");
    let read = pod(&object(value)).unwrap();
    assert_eq!(read.deleting, Some(45));
    assert!(read.ended && read.containers_running);
}

#[test]
fn a_pod_of_a_stateful_set_has_another_controller() {
    let mut value = a_pod();
    value["metadata"]["ownerReferences"][0]["kind"] = json!("StatefulSet");
    let read = pod(&object(value.clone())).unwrap();
    assert_eq!(
        read.controller,
        Some(Controller::Other(WorkloadUid::from("r-1")))
    );
    assert_eq!(read.replica_set(), None);
    value["metadata"]["ownerReferences"][0]["controller"] = json!(false);
    assert_eq!(pod(&object(value)).unwrap().controller, None);
}

#[test]
fn a_replica_set_whose_name_is_no_name_is_never_read() {
    for name in ["?watch=1", "../pods", "a/status", "..", "%2e", "A"] {
        let mut value = a_pod();
        value["metadata"]["ownerReferences"][0]["name"] = json!(name);
        let read = pod(&object(value)).unwrap();
        assert_eq!(read.replica_set(), None, "{name}");
        assert_eq!(
            read.controller,
            Some(Controller::Other(WorkloadUid::from("r-1")))
        );
    }
}

#[test]
fn a_node_is_read() {
    let read = node(&object(json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": "n-1", "uid": "u-1", "resourceVersion": "7",
            "labels": {"node.kubernetes.io/instance-type": "m5.large"},
        },
        "spec": {"providerID": "aws:///eu-west-1a/i-0123", "taints": [
            {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"},
        ]},
        "status": {"conditions": [{"type": "Ready", "status": "Unknown"}],
            "nodeInfo": {"bootID": "1b4e28ba-2fa1-11d2-883f-0016d3cca427", "kernelVersion": "6.12"}},
    })))
    .unwrap();
    let boot = BootId::parse("1b4e28ba-2fa1-11d2-883f-0016d3cca427");
    assert!(boot.is_some() && read.boot == boot);
    assert_eq!(read.instance, Some(InstanceId::from("i-0123")));
    assert_eq!(read.instance_type.unwrap().as_str(), "m5.large");
    assert!(!read.ready && read.out_of_service);
    assert_eq!((read.uid.as_str(), read.version.0), ("u-1", 7));
    assert!(!read.our_taint, "a person has set it");
    assert!(
        !read.unreachable,
        "only NoExecute means that the pods are given up"
    );
}

#[test]
fn the_taint_of_fast_failover_is_distinguished_from_that_of_a_person() {
    let tainted = |value: &str, effect: &str| {
        let taint =
            json!({"key": "node.kubernetes.io/out-of-service", "value": value, "effect": effect});
        let read = node(&object(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "n-1", "uid": "u-1", "resourceVersion": "7"},
            "spec": {"taints": [taint]},
        })));
        let read = read.unwrap();
        assert!(read.out_of_service);
        read.our_taint
    };
    assert!(tainted("mooring", "NoExecute"));
    assert!(!tainted("nodeshutdown", "NoExecute"));
    assert!(!tainted("", "NoExecute"));
    assert!(!tainted("mooring", "NoSchedule"));
}

#[test]
fn a_replica_set_is_read_with_its_selector() {
    let value = object(json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "web-abc", "uid": "r-1",
            "annotations": {"deployment.kubernetes.io/revision": "12"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web",
                "uid": "d-1", "controller": true}]},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web", "pod-template-hash": "abc"}}},
    }));
    let read = replica_set(&value).unwrap();
    assert_eq!((read.revision, read.replicas), (12, 0));
    assert_eq!(read.deployment.unwrap().as_str(), "d-1");
    assert_eq!(
        template_selector(&value).unwrap().as_deref(),
        Some("app=web")
    );
}

#[test]
fn a_replica_set_is_read_with_its_match_expressions() {
    let of = |selector: serde_json::Value| {
        let value = object(json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-abc", "uid": "r-1"},
            "spec": {"selector": selector},
        }));
        template_selector(&value).unwrap()
    };
    let hash = json!({"pod-template-hash": "abc"});
    let expressions = json!([
        {"key": "app", "operator": "In", "values": ["web", "shop"]},
        {"key": "tier", "operator": "NotIn", "values": ["test"]},
        {"key": "zone", "operator": "Exists"},
        {"key": "canary", "operator": "DoesNotExist"},
        {"key": "pod-template-hash", "operator": "Exists"},
        {"key": "new", "operator": "SomethingOfTomorrow", "values": ["x"]},
    ]);
    let all = "app in (web,shop),tier notin (test),zone,!canary";
    assert_eq!(
        of(json!({"matchLabels": hash, "matchExpressions": expressions})).as_deref(),
        Some(all)
    );
    let labelled = json!({"matchLabels": {"app": "web"}, "matchExpressions": [
        {"key": "zone", "operator": "Exists"},
    ]});
    assert_eq!(of(labelled).as_deref(), Some("app=web,zone"));
    assert_eq!(of(json!({"matchLabels": hash})), None, "any may be one");
}
