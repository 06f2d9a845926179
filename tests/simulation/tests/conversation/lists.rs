//! Lists: with selectors, in pages, and at given versions.

use serde_json::{Value, json};

use crate::objects::{IPS, PODS, ip, lease};
use crate::servers::{both_give_the_same_answers, both_give_the_same_answers_after_a_compaction};
use crate::talk::{Talk, version};

async fn leases(talk: &mut Talk, namespace: &str) -> (String, Vec<Value>) {
    talk.namespace(namespace).await;
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    let mut made = Vec::new();
    for (name, labels) in [
        ("a", json!({"pool": "x", "tier": "1"})),
        ("b", json!({"pool": "y"})),
        ("c", json!({"tier": "2"})),
        ("d", json!({})),
        ("e", json!({"pool": ""})),
    ] {
        let mut object = lease(name, "holder");
        object["metadata"]["labels"] = labels;
        made.push(talk.post(&path, object).await);
    }
    (path, made)
}

#[test]
fn a_list_is_filtered_by_labels_and_fields() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let (path, _) = leases(talk, "chosen").await;
        for labels in [
            "pool",
            "!pool",
            "pool%3Dx",
            "pool%3D%3Dx",
            "pool%3D",
            "pool!%3Dx",
            "pool+in+(x,y)",
            "pool+notin+(x,y)",
            "pool,tier%3D1",
            "pool,!tier",
        ] {
            talk.get(&format!("{path}?labelSelector={labels}")).await;
        }
        talk.get(&format!("{path}?fieldSelector=metadata.name%3Db"))
            .await;
        talk.get(&format!(
            "{path}?fieldSelector=metadata.name!%3Db&labelSelector=pool"
        ))
        .await;
        talk.get(&format!(
            "{path}?fieldSelector=spec.holderIdentity%3Dholder"
        ))
        .await;
    });
}

#[test]
fn an_ip_is_found_by_its_addresses_and_its_node() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let mut object = ip("found");
        object["spec"]["address"] = json!("203.0.113.77");
        talk.post(IPS, object).await;
        let status = json!({"status": {"address": "203.0.113.77", "node": "found-1"}});
        talk.merge(&format!("{IPS}/found/status"), status).await;
        for field in [
            "spec.address%3D203.0.113.77",
            "status.address%3D203.0.113.77",
            "status.node%3Dfound-1",
            "status.node%3Dfound-2",
            "spec.block%3Dpartners",
        ] {
            talk.get(&format!("{IPS}?fieldSelector={field}")).await;
        }
        talk.get(&format!("{PODS}?fieldSelector=spec.unheard%3Dof"))
            .await;
    });
}

#[test]
fn all_pages_of_a_list_have_one_version() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let (path, _) = leases(talk, "paged").await;
        let mut page = talk.get(&format!("{path}?limit=2")).await;
        // The next pages do not contain this object.
        talk.post(&path, lease("bb", "late")).await;
        talk.delete(&format!("{path}/e"), json!({})).await;
        while let Some(next) = page["metadata"]["continue"].as_str().map(str::to_owned) {
            page = talk.get(&format!("{path}?limit=2&continue={next}")).await;
        }
        talk.get(&format!("{path}?limit=1&labelSelector=pool"))
            .await;
        talk.get(&format!("{path}?limit=50")).await;
        talk.metadata(&format!("{path}?limit=1&labelSelector=pool"))
            .await;
        talk.metadata(&format!("{path}?labelSelector=unheard"))
            .await;
    });
}

#[test]
fn a_list_can_have_an_earlier_version_until_it_is_compacted() {
    both_give_the_same_answers_after_a_compaction(&async |talk: &mut Talk| {
        let (path, made) = leases(talk, "earlier").await;
        let then = version(&made[2]);
        let exact = format!("{path}?resourceVersionMatch=Exact&resourceVersion={then}");
        talk.get(&exact).await;
        talk.get(&format!(
            "{path}?resourceVersionMatch=NotOlderThan&resourceVersion={then}"
        ))
        .await;
        talk.get(&format!("{path}?resourceVersion={then}")).await;
        talk.get(&format!("{path}/a?resourceVersion={then}")).await;
        let page = talk.get(&format!("{path}?limit=2")).await;
        let next = page["metadata"]["continue"].as_str().unwrap().to_owned();
        talk.post(&path, lease("f", "late")).await;
        talk.compact(&path).await;
        talk.get(&exact).await;
        let expired = talk.get(&format!("{path}?limit=2&continue={next}")).await;
        let next = expired["metadata"]["continue"].as_str().unwrap().to_owned();
        talk.get(&format!("{path}?limit=2&continue={next}")).await;
        talk.get(&path).await;
    });
}

#[test]
fn a_request_for_a_future_version_times_out() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let (path, _) = leases(talk, "later").await;
        talk.get(&format!(
            "{path}?resourceVersionMatch=NotOlderThan&resourceVersion=999999999"
        ))
        .await;
        talk.get(&format!("{path}/a?resourceVersion=999999999"))
            .await;
    });
}
