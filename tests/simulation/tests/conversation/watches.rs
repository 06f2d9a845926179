//! Watches: all changes of matching objects, in order.

use serde_json::json;

use crate::objects::{IPS, PODS, ip, lease, pod};
use crate::servers::{both_give_the_same_answers, both_give_the_same_answers_after_a_compaction};
use crate::talk::{Talk, version};

#[test]
fn a_watch_shows_each_change_after_its_version() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let first = talk.post(IPS, ip("seen-1")).await;
        talk.post(IPS, ip("seen-2")).await;
        let changed = talk
            .merge(
                &format!("{IPS}/seen-1"),
                json!({"spec": {"reassign": true}}),
            )
            .await;
        talk.merge(
            &format!("{IPS}/seen-1/status"),
            json!({"status": {"claimed": true}}),
        )
        .await;
        talk.merge(
            &format!("{IPS}/seen-1/status"),
            json!({"status": {"claimed": true}}),
        )
        .await;
        talk.delete(&format!("{IPS}/seen-1"), json!({})).await;
        let again = talk.post(IPS, ip("seen-1")).await;
        for (since, count) in [(&first, 3), (&changed, 2), (&again, 0)] {
            let one = "fieldSelector=metadata.name%3Dseen-1";
            let since = version(since);
            talk.watch(&format!("{IPS}?{one}&resourceVersion={since}"), count)
                .await;
        }
    });
}

#[test]
fn a_watch_without_a_version_starts_with_the_existing_objects() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        for name in ["there-1", "there-2"] {
            let mut object = ip(name);
            object["metadata"]["labels"] = json!({"conversation": "there"});
            talk.post(IPS, object).await;
        }
        let chosen = format!("{IPS}?labelSelector=conversation%3Dthere");
        talk.watch(&chosen, 2).await;
        talk.watch(&format!("{chosen}&resourceVersion=0"), 2).await;
        talk.watch_metadata(&chosen, 2).await;
    });
}

#[test]
fn an_object_that_no_longer_matches_is_deleted_for_a_watch() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let place = format!("{PODS}/chosen");
        let made = talk.post(PODS, pod("chosen")).await;
        for label in [
            json!("yes"),
            json!("no"),
            json!("yes"),
            json!("yes"),
            json!(null),
        ] {
            talk.merge(&place, json!({"metadata": {"labels": {"chosen": label}}}))
                .await;
        }
        talk.merge(&place, json!({"metadata": {"labels": {"chosen": "yes"}}}))
            .await;
        talk.merge(&place, json!({"metadata": {"annotations": {"a": "1"}}}))
            .await;
        talk.delete(&place, json!({})).await;
        let since = format!("{PODS}?resourceVersion={}", version(&made));
        talk.watch(&format!("{since}&labelSelector=chosen%3Dyes"), 7)
            .await;
        talk.watch(&format!("{since}&labelSelector=chosen"), 7)
            .await;
        talk.watch_metadata(&format!("{since}&labelSelector=chosen%3Dno"), 2)
            .await;
    });
}

#[test]
fn a_compacted_version_cannot_be_watched() {
    both_give_the_same_answers_after_a_compaction(&async |talk: &mut Talk| {
        talk.post(IPS, ip("forgotten")).await;
        talk.compact(IPS).await;
        let all = talk
            .watch_to_the_end(&format!("{IPS}?resourceVersion=1"))
            .await;
        assert_eq!(all[0]["object"]["code"], 410);
    });
}

#[test]
fn a_watch_from_a_future_version_receives_nothing() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        talk.namespace("ahead").await;
        let path = "/apis/coordination.k8s.io/v1/namespaces/ahead/leases";
        talk.post(path, lease("ahead", "a")).await;
        let ahead = format!("{path}?timeoutSeconds=2&resourceVersion=999999999");
        talk.watch_to_the_end(&ahead).await;
        let ahead = format!("{IPS}?timeoutSeconds=2&resourceVersion=999999999");
        talk.watch_to_the_end(&ahead).await;
        talk.get(&format!("{path}/ahead")).await;
    });
}

#[test]
fn a_watch_ends_at_its_timeout_after_a_bookmark() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        talk.namespace("timed").await;
        let path = "/apis/coordination.k8s.io/v1/namespaces/timed/leases";
        let made = talk.post(path, lease("timed", "a")).await;
        talk.merge(
            &format!("{path}/timed"),
            json!({"spec": {"holderIdentity": "b"}}),
        )
        .await;
        let since = format!("{path}?resourceVersion={}", version(&made));
        talk.watch_to_the_end(&format!("{since}&timeoutSeconds=1"))
            .await;
        // The bookmark is sent within the last 2 s, which can be too short on a busy machine.
        let query = format!("{since}&timeoutSeconds=8&allowWatchBookmarks=true");
        for _ in 0..10 {
            let events = talk.watch_to_the_end(&query).await;
            let bookmarks = events.iter().filter(|event| event["type"] == "BOOKMARK");
            match bookmarks.count() {
                0 => talk.forget(events.len()),
                // A bookmark is sent in each of the two seconds. One is enough.
                count => return talk.forget(count - 1),
            }
        }
        panic!("no bookmark comes");
    });
}
