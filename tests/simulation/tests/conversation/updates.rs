//! PUT: only with the version that was read.

use serde_json::json;

use crate::objects::{IPS, LEASES, NODES, RESERVATIONS, ip, lease, node, reservation};
use crate::servers::both_give_the_same_answers;
use crate::talk::{Talk, version};

#[test]
fn an_update_of_an_old_version_has_a_conflict() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        for (path, object) in [
            (IPS, ip("raced")),
            (LEASES, lease("raced", "a")),
            (NODES, node("raced")),
            (RESERVATIONS, reservation("203.0.113.2")),
        ] {
            let first = talk.post(path, object).await;
            let place = format!("{path}/{}", first["metadata"]["name"].as_str().unwrap());
            let mut second = first.clone();
            second["metadata"]["labels"] = json!({"by": "the-fast"});
            talk.put(&place, second).await;
            let mut late = first.clone();
            late["metadata"]["labels"] = json!({"by": "the-slow"});
            talk.put(&place, late.clone()).await;
            talk.get(&place).await;
            // A PUT without a version.
            late["metadata"]["resourceVersion"] = json!("");
            talk.put(&place, late).await;
        }
    });
}

#[test]
fn an_update_that_changes_nothing_makes_no_version() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let made = talk.post(IPS, ip("same")).await;
        talk.put(&format!("{IPS}/same"), made).await;
        let made = talk.post(LEASES, lease("same", "a")).await;
        talk.put(&format!("{LEASES}/same"), made).await;
        talk.get(&format!("{LEASES}/same")).await;
    });
}

#[test]
fn the_generation_counts_changes_of_the_spec() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let mut object = talk.post(IPS, ip("counted")).await;
        let place = format!("{IPS}/counted");
        object["metadata"]["annotations"] = json!({"example.com/a": "b"});
        object["status"] = json!({"address": "203.0.113.9"});
        object["metadata"]["generation"] = json!(40);
        let mut object = talk.put(&place, object).await;
        object["spec"]["reassign"] = json!(true);
        talk.put(&place, object).await;
    });
}

#[test]
fn an_object_of_another_uid_is_another() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let other = "11111111-2222-3333-4444-555555555555";
        let mut object = talk.post(IPS, ip("other")).await;
        object["metadata"]["uid"] = json!(other);
        talk.put(&format!("{IPS}/other"), object).await;
        let mut object = talk.post(LEASES, lease("other", "a")).await;
        object["metadata"]["uid"] = json!(other);
        talk.put(&format!("{LEASES}/other"), object).await;
    });
}

#[test]
fn a_missing_object_is_not_updated_but_a_lease_is_created() {
    both_give_the_same_answers(&async |talk: &mut Talk| {
        let mut object = ip("absent");
        talk.put(&format!("{IPS}/absent"), object.clone()).await;
        object["metadata"]["resourceVersion"] = json!("5");
        talk.put(&format!("{IPS}/absent"), object).await;
        let made = talk
            .put(&format!("{LEASES}/absent"), lease("absent", "a"))
            .await;
        version(&made);
        talk.delete(&format!("{LEASES}/absent"), json!({})).await;
        // As the holder of a Lease renews it after a deletion.
        talk.put(&format!("{LEASES}/absent"), made).await;
        let mut versioned = lease("absent", "a");
        versioned["metadata"]["resourceVersion"] = json!("5");
        talk.put(&format!("{LEASES}/absent"), versioned).await;
    });
}
