//! The reports reach the API server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::{ProbeResults, Reports, run};
use crate::fake_api::half_open_api_server;

/// The node part counts as away after this time without a report.
const AWAY: Duration = Duration::from_secs(30);

#[tokio::test(start_paused = true)]
async fn after_a_request_without_an_answer_a_report_is_written_before_the_node_part_counts_as_away()
{
    let (sender, mut written) = mpsc::unbounded_channel();
    let answering = Arc::<AtomicBool>::default();
    let client = half_open_api_server(move |_, _, patch| {
        if !answering.swap(true, Ordering::Relaxed) {
            return None;
        }
        sender.send(patch["status"].clone()).unwrap();
        Some((200, json!({"metadata": {"name": "node-a"}, "spec": {}})))
    });
    let (_reports, reports) = watch::channel(Reports::new());
    let (_outcomes, outcomes) = watch::channel(ProbeResults::new());
    let status = tokio::select! {
        () = run(client, "node-a".to_owned(), reports, outcomes) => None,
        status = tokio::time::timeout(AWAY, written.recv()) => status.unwrap(),
    };
    assert!(status.unwrap()["heartbeatTime"].is_string());
}
