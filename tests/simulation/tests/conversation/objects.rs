//! Creation of objects, and their defaults.

use serde_json::{Value, json};

use crate::servers::both_give_the_same_answers;
use crate::talk::Talk;

pub const IPS: &str = "/apis/ip.wgtwo.com/v1alpha1/ips";
pub const BLOCKS: &str = "/apis/ip.wgtwo.com/v1alpha1/ipblocks";
pub const NODES: &str = "/api/v1/nodes";
pub const PODS: &str = "/api/v1/namespaces/default/pods";
pub const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
pub const RESERVATIONS: &str = "/apis/networking.k8s.io/v1/ipaddresses";
pub const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

/// An `IP` with a name that no other conversation uses.
pub fn ip(name: &str) -> Value {
    json!({
        "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP",
        "metadata": {"name": name},
        "spec": {"block": "partners"},
    })
}

pub fn lease(name: &str, holder: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15},
    })
}

pub fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "spec": {
            "providerID": "aws:///zone/i-1",
            // Otherwise admission would set it, and admission is not compared.
            "taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}],
        },
    })
}

pub fn reservation(address: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": {"name": address},
        "spec": {"parentRef": {"group": "ip.wgtwo.com", "resource": "ips", "name": "partner"}},
    })
}

pub fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]},
    })
}

pub fn replica_set(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]},
            },
        },
    })
}

#[test]
fn an_object_is_created_once() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        for (path, object) in [
            (IPS, ip("once")),
            (LEASES, lease("once", "a")),
            (NODES, node("once")),
            (RESERVATIONS, reservation("203.0.113.1")),
            (PODS, pod("once")),
            (SETS, replica_set("once")),
        ] {
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            talk.get(&format!("{path}/{name}")).await;
            talk.post(path, object.clone()).await;
            talk.post(path, object.clone()).await;
            talk.get(&format!("{path}/{name}")).await;
        }
    });
}

#[test]
fn a_new_object_has_exactly_the_fields_of_its_schema() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let mut object = ip("tidied");
        object["spec"]["unheard"] = json!(1);
        object["spec"]["address"] = Value::Null;
        object["unheard"] = json!("of");
        object["status"] = json!({"address": "203.0.113.9"});
        object["metadata"]["labels"] = json!({});
        object["metadata"]["uid"] = json!("of-my-own");
        object["metadata"]["generation"] = json!(7);
        talk.post(IPS, object).await;
        let block = json!({
            "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock", "metadata": {"name": "tidied"},
            "spec": {"cidr": "203.0.113.0/24", "subnetID": "subnet-0123456789abcdef0", "unheard": {}},
        });
        talk.post(BLOCKS, block).await;
    });
}

#[test]
fn a_name_can_be_generated() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let mut object = ip("x");
        object["metadata"] = json!({"generateName": "generated-"});
        talk.post(IPS, object.clone()).await;
        talk.post(IPS, object).await;
    });
}

#[test]
fn a_new_object_has_no_version() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let mut object = ip("versioned");
        object["metadata"]["resourceVersion"] = json!("1");
        talk.post(IPS, object).await;
    });
}

#[test]
fn an_event_is_posted_and_counted_up() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": "said", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "mooring", "reportingInstance": "mooring-0",
            "action": "Attached", "reason": "Attached", "type": "Normal", "note": "it is there",
            "regarding": {"kind": "IP", "name": "a", "apiVersion": "ip.wgtwo.com/v1alpha1"},
        });
        talk.post(EVENTS, event).await;
        let series =
            json!({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}});
        talk.merge(&format!("{EVENTS}/said"), series).await;
    });
}
