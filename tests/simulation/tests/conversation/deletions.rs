//! Deletions of objects.

use serde_json::json;

use crate::objects::{
    IPS, LEASES, NODES, RESERVATIONS, SETS, ip, lease, node, replica_set, reservation,
};
use crate::servers::both_give_the_same_answers;
use crate::talk::{Talk, uid, version};

#[test]
fn an_object_without_finalizers_is_deleted_at_once() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        for (path, object) in [
            (IPS, ip("unheld")),
            (LEASES, lease("unheld", "a")),
            (NODES, node("unheld")),
            (SETS, replica_set("unheld")),
            (RESERVATIONS, reservation("203.0.113.5")),
        ] {
            let made = talk.post(path, object).await;
            let place = format!("{path}/{}", made["metadata"]["name"].as_str().unwrap());
            talk.delete(&place, json!({})).await;
            talk.get(&place).await;
            talk.delete(&place, json!({})).await;
        }
    });
}

#[test]
fn a_finalizer_keeps_an_object_until_its_removal() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        for (path, mut object) in [
            (IPS, ip("held")),
            (NODES, node("held")),
            (RESERVATIONS, reservation("203.0.113.6")),
        ] {
            object["metadata"]["finalizers"] = json!(["example.com/a", "example.com/b"]);
            let made = talk.post(path, object).await;
            let name = made["metadata"]["name"].as_str().unwrap();
            let place = format!("{path}/{name}");
            talk.delete(&place, json!({})).await;
            talk.delete(&place, json!({})).await;
            let more = json!(["example.com/a", "example.com/b", "example.com/c"]);
            talk.merge(&place, json!({"metadata": {"finalizers": more}}))
                .await;
            let undead = json!({"metadata": {"deletionTimestamp": null, "labels": {"a": "1"}}});
            talk.merge(&place, undead).await;
            talk.merge(
                &place,
                json!({"metadata": {"finalizers": ["example.com/b"]}}),
            )
            .await;
            talk.post(path, made.clone()).await;
            talk.merge(&place, json!({"metadata": {"finalizers": []}}))
                .await;
            talk.get(&place).await;
            let since = format!(
                "{path}?fieldSelector=metadata.name%3D{name}&resourceVersion={}",
                version(&made)
            );
            talk.watch(&since, 4).await;
        }
    });
}

#[test]
fn the_status_of_a_terminating_object_can_be_written() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let place = format!("{IPS}/going");
        let mut object = ip("going");
        object["metadata"]["finalizers"] = json!(["example.com/a"]);
        talk.post(IPS, object).await;
        talk.delete(&place, json!({})).await;
        talk.merge(
            &format!("{place}/status"),
            json!({"status": {"claimed": true}}),
        )
        .await;
        talk.merge(
            &format!("{place}/status"),
            json!({"metadata": {"finalizers": []}}),
        )
        .await;
        talk.get(&place).await;
    });
}

#[test]
fn a_delete_can_be_guarded_by_uid_and_version() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let other = "11111111-2222-3333-4444-555555555555";
        for (path, object) in [
            (IPS, ip("named")),
            (RESERVATIONS, reservation("203.0.113.7")),
        ] {
            let made = talk.post(path, object).await;
            let place = format!("{path}/{}", made["metadata"]["name"].as_str().unwrap());
            let changed = talk
                .merge(&place, json!({"metadata": {"labels": {"a": "1"}}}))
                .await;
            for wanted in [
                json!({"uid": other}),
                json!({"uid": uid(&made), "resourceVersion": version(&made)}),
                json!({"uid": uid(&made), "resourceVersion": version(&changed)}),
            ] {
                talk.delete(&place, json!({"preconditions": wanted})).await;
            }
            talk.get(&place).await;
        }
    });
}

#[test]
fn the_delete_chooses_the_propagation_to_dependents() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        for policy in ["Foreground", "Orphan", "Background"] {
            let name = format!("policy-{}", policy.to_lowercase());
            talk.post(IPS, ip(&name)).await;
            let options = json!({"propagationPolicy": policy});
            talk.delete(&format!("{IPS}/{name}"), options).await;
        }
    });
}
