//! The subresource `status`.

use serde_json::json;

use crate::objects::{
    IPS, NODES, PODS, RESERVATIONS, SETS, ip, node, pod, replica_set, reservation,
};
use crate::servers::both_give_the_same_answers;
use crate::talk::{Talk, version};

#[test]
fn the_status_subresource_of_a_custom_kind_writes_only_the_status() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let place = format!("{IPS}/apart");
        let made = talk.post(IPS, ip("apart")).await;
        let all = json!({
            "metadata": {"labels": {"a": "1"}, "finalizers": ["example.com/a"]},
            "spec": {"reassign": true},
            "status": {"address": "203.0.113.9", "unheard": 1},
        });
        let after = talk.merge(&format!("{place}/status"), all.clone()).await;
        talk.merge(&place, all).await;
        let mut late = after;
        late["status"]["claimed"] = json!(true);
        talk.put(&format!("{place}/status"), late).await;
        let stale =
            json!({"metadata": {"resourceVersion": version(&made)}, "status": {"claimed": true}});
        talk.merge(&format!("{place}/status"), stale).await;
        talk.get(&format!("{place}/status")).await;
        talk.merge(
            &format!("{place}/status"),
            json!({"status": {"claimed": true}}),
        )
        .await;
        talk.merge(
            &format!("{place}/status"),
            json!({"status": {"claimed": true}}),
        )
        .await;
        talk.merge(
            &format!("{place}/status"),
            json!({"status": {"address": null}}),
        )
        .await;
    });
}

#[test]
fn the_status_subresource_of_a_pod_writes_labels_but_no_spec() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let place = format!("{PODS}/apart");
        talk.post(PODS, pod("apart")).await;
        let all = json!({
            "metadata": {"labels": {"a": "1"}, "annotations": {"a": "1"}},
            "spec": {"terminationGracePeriodSeconds": 1},
            "status": {"phase": "Running", "conditions": [{"type": "example.com/a", "status": "True"}]},
        });
        talk.strategic(&format!("{place}/status"), all.clone())
            .await;
        talk.strategic(&format!("{place}/status"), all).await;
        talk.merge(&place, json!({"status": {"phase": "Failed"}}))
            .await;
    });
}

#[test]
fn nodes_and_replica_sets_have_a_status_and_reservations_have_none() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let mut object = node("apart");
        object["status"] =
            json!({"conditions": [{"type": "Ready", "status": "False", "reason": "New"}]});
        talk.post(NODES, object).await;
        let ready = json!({"metadata": {"labels": {"a": "1"}}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        talk.strategic(&format!("{NODES}/apart/status"), ready.clone())
            .await;
        talk.strategic(
            &format!("{NODES}/apart"),
            json!({"status": {"conditions": []}}),
        )
        .await;
        let taint = json!([{"key": "example.com/t", "effect": "NoExecute"}]);
        talk.merge(
            &format!("{NODES}/apart"),
            json!({"spec": {"taints": taint}}),
        )
        .await;
        talk.post(SETS, replica_set("apart")).await;
        talk.merge(
            &format!("{SETS}/apart"),
            json!({"spec": {"replicas": 2}, "status": {"replicas": 2}}),
        )
        .await;
        talk.merge(
            &format!("{SETS}/apart/status"),
            json!({"status": {"replicas": 2}}),
        )
        .await;
        talk.post(RESERVATIONS, reservation("203.0.113.4")).await;
        talk.merge(&format!("{RESERVATIONS}/203.0.113.4/status"), json!({}))
            .await;
    });
}
