//! PATCH with all three patch types.

use serde_json::json;

use crate::objects::{IPS, PODS, RESERVATIONS, ip, pod, reservation};
use crate::servers::both_give_the_same_answers;
use crate::talk::{Talk, uid, version};

#[test]
fn a_merge_patch_sets_and_removes_fields() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let place = format!("{IPS}/merged");
        talk.post(IPS, ip("merged")).await;
        let labels =
            json!({"metadata": {"labels": {"a": "1", "b": "2"}, "finalizers": ["example.com/a"]}});
        talk.merge(&place, labels).await;
        let fewer = json!({"metadata": {"labels": {"a": null, "c": "3"}, "finalizers": []}});
        talk.merge(&place, fewer).await;
        talk.merge(
            &place,
            json!({"metadata": {"labels": null}, "spec": {"unheard": 1}}),
        )
        .await;
        talk.merge(&place, json!({"spec": {"reassign": true}}))
            .await;
        talk.merge(&format!("{IPS}/absent-1"), json!({})).await;
    });
}

#[test]
fn a_patch_that_changes_nothing_makes_no_version() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let place = format!("{IPS}/unchanged");
        talk.post(IPS, ip("unchanged")).await;
        talk.merge(&place, json!({"spec": {"block": "partners"}}))
            .await;
        talk.merge(&place, json!({})).await;
        talk.get(&place).await;
    });
}

#[test]
fn a_patch_can_be_guarded_by_version_and_uid() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let other = "11111111-2222-3333-4444-555555555555";
        for (path, object) in [
            (IPS, ip("guarded")),
            (RESERVATIONS, reservation("203.0.113.3")),
            (PODS, pod("guarded")),
        ] {
            let made = talk.post(path, object).await;
            let place = format!("{path}/{}", made["metadata"]["name"].as_str().unwrap());
            let label = |value: &str, version: &str, uid: &str| json!({"metadata": {"labels": {"a": value}, "resourceVersion": version, "uid": uid}});
            let after = talk
                .merge(&place, label("1", &version(&made), &uid(&made)))
                .await;
            talk.merge(&place, label("2", &version(&made), &uid(&made)))
                .await;
            talk.merge(&place, label("3", &version(&after), other))
                .await;
            talk.merge(
                &place,
                json!({"metadata": {"labels": {"a": "4"}, "uid": other}}),
            )
            .await;
            // A patch with only guards changes nothing, but its guards are checked.
            talk.merge(
                &place,
                json!({"metadata": {"resourceVersion": version(&made)}}),
            )
            .await;
            talk.get(&place).await;
        }
    });
}

#[test]
fn a_json_patch_is_atomic() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let place = format!("{IPS}/steps");
        talk.post(IPS, ip("steps")).await;
        let good = json!([
            {"op": "test", "path": "/spec/block", "value": "partners"},
            {"op": "add", "path": "/metadata/labels", "value": {"a": "1"}},
        ]);
        talk.patch(&place, "json-patch", good).await;
        let bad = json!([
            {"op": "replace", "path": "/metadata/labels/a", "value": "2"},
            {"op": "test", "path": "/spec/block", "value": "others"},
        ]);
        talk.patch(&place, "json-patch", bad).await;
        let nowhere = json!([{"op": "remove", "path": "/metadata/labels/b"}]);
        talk.patch(&place, "json-patch", nowhere).await;
        talk.get(&place).await;
    });
}

#[test]
fn a_strategic_patch_is_refused_for_custom_kinds() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let place = format!("{IPS}/strategic");
        talk.post(IPS, ip("strategic")).await;
        talk.strategic(&place, json!({"metadata": {"labels": {"a": "1"}}}))
            .await;
        talk.patch(&place, "unheard-patch", json!({})).await;
    });
}

#[test]
fn a_strategic_patch_merges_lists_by_key() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let place = format!("{PODS}/keyed");
        talk.post(PODS, pod("keyed")).await;
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
        for patch in [
            json!([
                condition("example.com/a", "False"),
                condition("example.com/b", "True")
            ]),
            json!([condition("example.com/a", "True")]),
            json!([{"type": "example.com/b", "$patch": "delete"}]),
            json!([{"type": "example.com/a", "reason": "DenyReason"}]),
        ] {
            let patch = json!({"status": {"conditions": patch}});
            talk.strategic(&format!("{place}/status"), patch).await;
        }
        let owner = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "X", "name": name, "uid": uid});
        for patch in [
            json!({"ownerReferences": [owner("a", "1")], "finalizers": ["example.com/a"]}),
            json!({"ownerReferences": [owner("b", "2")], "finalizers": ["example.com/b"]}),
            json!({"ownerReferences": [{"uid": "1", "$patch": "delete"}]}),
            json!({"labels": {"a": "1"}, "annotations": {"a": "1"}}),
            json!({"labels": {"a": null, "b": "2"}}),
        ] {
            talk.strategic(&place, json!({"metadata": patch})).await;
        }
    });
}
