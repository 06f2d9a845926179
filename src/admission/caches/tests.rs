//! The caches of a webhook without a controller follow the API server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::request::Parts;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Caches;
use crate::fake_api::half_open_api_server;

/// The requests of one kind that the API server has answered.
#[derive(Default)]
struct Asked {
    versions: u64,
    lists: usize,
}

fn ip(name: &str) -> Value {
    json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP",
        "metadata": {"name": name, "uid": name, "resourceVersion": "1"}, "spec": {"block": "home"}})
}

/// The lists of a server that is restored from a backup before the version of a list is asked for again.
fn restored(head: &Parts, asked: &mut BTreeMap<String, Asked>) -> Value {
    let asked = asked.entry(head.uri.path().to_owned()).or_default();
    let only_version = head
        .uri
        .query()
        .is_some_and(|query| query.split('&').any(|part| part == "limit=1"));
    let (version, items) = if only_version {
        asked.versions += 1;
        (100 / asked.versions, Vec::new())
    } else {
        asked.lists += 1;
        let name = if asked.lists == 1 { "before" } else { "after" };
        let of_ips = head.uri.path().ends_with("/ips");
        (100, of_ips.then(|| ip(name)).into_iter().collect())
    };
    json!({"metadata": {"resourceVersion": version.to_string()}, "items": items})
}

#[tokio::test(start_paused = true)]
async fn after_a_restoration_from_a_backup_the_caches_are_filled_again() {
    let asked = Arc::<Mutex<BTreeMap<String, Asked>>>::default();
    let (sender, mut watches_of_ips) = mpsc::unbounded_channel();
    let client = half_open_api_server(move |head, _| {
        if head
            .uri
            .query()
            .is_some_and(|query| query.contains("watch="))
        {
            if head.uri.path().ends_with("/ips") {
                sender.send(()).unwrap();
            }
            return None;
        }
        Some((200, restored(head, &mut asked.lock().unwrap())))
    });
    let caches = Caches::default();
    let watching = caches.clone().watch(client);
    let listed_twice = async {
        for _ in 0..2 {
            watches_of_ips.recv().await.unwrap();
        }
    };
    tokio::select! {
        () = watching => {}
        () = async { tokio::time::timeout(Duration::from_mins(2), listed_twice).await.unwrap() } => {}
    }
    let snapshot = caches.snapshot(None);
    assert!(snapshot.ip("after").is_some() && snapshot.ip("before").is_none());
}
