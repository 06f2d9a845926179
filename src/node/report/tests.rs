//! The reports reach the API server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::{ProbeResults, Reports, run};
use crate::fake_api::{failure, half_open_api_server};

/// The node part counts as away after this time without a report.
const AWAY: Duration = Duration::from_secs(30);

fn answer(version: u64) -> Value {
    json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPNode", "spec": {},
        "metadata": {"name": "node-a", "uid": "uid", "resourceVersion": version.to_string()}})
}

/// The number of restorations that the node part reports while the API server answers its writes with these versions.
/// None: there is no `IPNode`, and it is created.
async fn restorations_in(versions: &'static [Option<u64>]) -> u32 {
    let next = Arc::<AtomicUsize>::default();
    let (sender, mut all_answered) = mpsc::unbounded_channel();
    let client = half_open_api_server(move |head, _| {
        if head.method != Method::PATCH {
            return Some((200, answer(1)));
        }
        let Some(version) = versions.get(next.fetch_add(1, Ordering::Relaxed)) else {
            sender.send(()).unwrap();
            return None;
        };
        Some(version.map_or_else(|| failure(404), |version| (200, answer(version))))
    });
    let (_reports, reports) = watch::channel(Reports::new());
    let (_outcomes, outcomes) = watch::channel(ProbeResults::new());
    let (restored, restorations) = watch::channel(0);
    let found = tokio::select! {
        () = run(client, "node-a".to_owned(), None, reports, outcomes, restored) => None,
        all = all_answered.recv() => all.map(|()| *restorations.borrow()),
    };
    found.unwrap()
}

#[tokio::test(start_paused = true)]
async fn after_a_request_without_an_answer_a_report_is_written_before_the_node_part_counts_as_away()
{
    let (sender, mut written) = mpsc::unbounded_channel();
    let answering = Arc::<AtomicBool>::default();
    let client = half_open_api_server(move |_, patch| {
        if !answering.swap(true, Ordering::Relaxed) {
            return None;
        }
        sender.send(patch["status"].clone()).unwrap();
        Some((200, answer(1)))
    });
    let (_reports, reports) = watch::channel(Reports::new());
    let (_outcomes, outcomes) = watch::channel(ProbeResults::new());
    let (restored, _restorations) = watch::channel(0);
    let boot = Some("boot-1".to_owned());
    let status = tokio::select! {
        () = run(client, "node-a".to_owned(), boot, reports, outcomes, restored) => None,
        status = tokio::time::timeout(AWAY, written.recv()) => status.unwrap(),
    };
    let status = status.unwrap();
    assert!(status["heartbeatTime"].is_string());
    assert_eq!(status["bootID"], "boot-1");
}

#[tokio::test(start_paused = true)]
async fn an_answer_with_a_lower_version_is_a_restoration() {
    assert_eq!(restorations_in(&[Some(100), Some(110), Some(110)]).await, 0);
    assert_eq!(restorations_in(&[Some(100), Some(50), Some(60)]).await, 1);
    assert_eq!(restorations_in(&[Some(100), Some(50), Some(40)]).await, 2);
}

#[tokio::test(start_paused = true)]
async fn an_ipnode_that_is_created_again_with_a_lower_version_is_a_restoration() {
    assert_eq!(restorations_in(&[Some(100), None, Some(120)]).await, 0);
    assert_eq!(
        restorations_in(&[Some(100), None, Some(50), Some(60)]).await,
        1
    );
}

/// A merge patch would keep what an earlier node part has written.
#[tokio::test(start_paused = true)]
async fn a_boot_that_is_not_known_is_removed_from_the_report() {
    let (sender, mut written) = mpsc::unbounded_channel();
    let client = half_open_api_server(move |_, patch| {
        sender.send(patch["status"].clone()).unwrap();
        Some((200, answer(1)))
    });
    let (_reports, reports) = watch::channel(Reports::new());
    let (_outcomes, outcomes) = watch::channel(ProbeResults::new());
    let (restored, _restorations) = watch::channel(0);
    let status = tokio::select! {
        () = run(client, "node-a".to_owned(), None, reports, outcomes, restored) => None,
        status = written.recv() => status,
    };
    assert_eq!(status.unwrap().get("bootID"), Some(&Value::Null));
}
