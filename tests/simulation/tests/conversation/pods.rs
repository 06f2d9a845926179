//! Pods, which end after a grace period.

use serde_json::json;

use crate::objects::{PODS, pod};
use crate::servers::both_give_the_same_answers;
use crate::talk::{Talk, version};

async fn bind(talk: &mut Talk, name: &str) {
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "somewhere"},
    });
    let place = format!("{PODS}/{name}");
    talk.post(&format!("{place}/binding"), binding).await;
    // The real server decides a deletion from its watch cache. On a busy machine this may not show the binding yet, and
    // then the pod has no grace period. A read of this version waits for the cache.
    let bound = talk.get(&place).await;
    if bound["kind"] == "Pod" {
        talk.get(&format!("{place}?resourceVersion={}", version(&bound)))
            .await;
    }
}

#[test]
fn a_pod_is_bound_once() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        talk.post(PODS, pod("bound")).await;
        bind(talk, "bound").await;
        talk.get(&format!("{PODS}/bound")).await;
        bind(talk, "bound").await;
        bind(talk, "unheard-of").await;
        talk.get(&format!(
            "{PODS}?fieldSelector=spec.nodeName%3Dsomewhere,metadata.name%3Dbound"
        ))
        .await;
    });
}

#[test]
fn an_unbound_pod_is_deleted_at_once() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        talk.post(PODS, pod("unbound")).await;
        talk.delete(&format!("{PODS}/unbound"), json!({})).await;
        talk.get(&format!("{PODS}/unbound")).await;
    });
}

#[test]
fn a_bound_pod_is_deleted_when_its_kubelet_confirms() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let place = format!("{PODS}/slow");
        let made = talk.post(PODS, pod("slow")).await;
        bind(talk, "slow").await;
        talk.delete(&place, json!({})).await;
        talk.delete(&place, json!({})).await;
        talk.delete(&place, json!({"gracePeriodSeconds": 5})).await;
        talk.delete(&place, json!({"gracePeriodSeconds": 20})).await;
        bind(talk, "slow").await;
        talk.delete(&place, json!({"gracePeriodSeconds": 0})).await;
        talk.get(&place).await;
        let since = format!(
            "{PODS}?fieldSelector=metadata.name%3Dslow&resourceVersion={}",
            version(&made)
        );
        talk.watch(&since, 5).await;
    });
}

#[test]
fn a_finalizer_keeps_a_pod_after_the_confirmation_of_the_kubelet() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let place = format!("{PODS}/held");
        let mut object = pod("held");
        object["metadata"]["finalizers"] = json!(["example.com/a"]);
        let made = talk.post(PODS, object.clone()).await;
        bind(talk, "held").await;
        talk.delete(&place, json!({})).await;
        talk.delete(&place, json!({"gracePeriodSeconds": 0})).await;
        talk.delete(&place, json!({"gracePeriodSeconds": 0})).await;
        talk.merge(&place, json!({"metadata": {"finalizers": null}}))
            .await;
        talk.get(&place).await;
        let since = format!(
            "{PODS}?fieldSelector=metadata.name%3Dheld&resourceVersion={}",
            version(&made)
        );
        talk.watch(&since, 4).await;

        object["metadata"]["name"] = json!("let-go");
        talk.post(PODS, object.clone()).await;
        bind(talk, "let-go").await;
        let place = format!("{PODS}/let-go");
        talk.delete(&place, json!({})).await;
        talk.merge(&place, json!({"metadata": {"finalizers": null}}))
            .await;
        talk.get(&place).await;

        object["metadata"]["name"] = json!("held-unbound");
        talk.post(PODS, object).await;
        let place = format!("{PODS}/held-unbound");
        talk.delete(&place, json!({})).await;
        talk.merge(&place, json!({"metadata": {"finalizers": null}}))
            .await;
        talk.get(&place).await;
    });
}

#[test]
fn an_ended_pod_is_deleted_at_once() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        talk.post(PODS, pod("ended")).await;
        bind(talk, "ended").await;
        let place = format!("{PODS}/ended");
        talk.merge(
            &format!("{place}/status"),
            json!({"status": {"phase": "Succeeded"}}),
        )
        .await;
        talk.delete(&place, json!({})).await;
        talk.get(&place).await;
    });
}

#[test]
fn an_update_cannot_move_a_pod() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        talk.post(PODS, pod("moved")).await;
        talk.merge(
            &format!("{PODS}/moved"),
            json!({"spec": {"nodeName": "elsewhere"}}),
        )
        .await;
    });
}
