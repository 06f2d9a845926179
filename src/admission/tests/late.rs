//! Time limits of the reads of a review.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mooring_plan::admission::usage::{Subject, Use};
use serde_json::json;

use super::http::{block_asked, post, review, webhook};
use super::{asking, block, snapshot_of};
use crate::admission::cluster_reader::READ_TIMEOUT;
use crate::admission::http::TIME;
use crate::admission::{
    Caches, ClusterReader, Dependencies, KubeReader, Right, Rights, Snapshot, Unreadable,
};
use crate::api::request::REQUEST_TIMEOUT;
use crate::fake_api::half_open_api_server;

/// A reader with an empty cache that needs this time to read the real objects.
#[derive(Clone)]
struct Slow(Duration);

impl Rights for Slow {
    async fn right(&self, _: &Subject, _: &Use) -> Result<Right, Unreadable> {
        panic!("no right is checked without --authorize-use")
    }
}

impl ClusterReader for Slow {
    async fn cached(&self, _: &Dependencies) -> Snapshot {
        snapshot_of([], [])
    }

    async fn fresh(&self, _: &Dependencies) -> Result<Snapshot, Unreadable> {
        tokio::time::sleep(self.0).await;
        Ok(snapshot_of([], [block("office", "203.0.113.0/24")]))
    }
}

#[tokio::test(start_paused = true)]
async fn an_irreversible_change_is_decided_although_its_reads_take_2_seconds() {
    let office = block("office", "203.0.113.0/24");
    let delete = json!({"uid": "one", "operation": "DELETE", "oldObject": office});
    let response = block_asked(Slow(Duration::from_millis(2400)), delete.clone()).await;
    assert_eq!(response["allowed"], true, "{response}");
    let response = block_asked(Slow(Duration::from_millis(2600)), delete).await;
    assert_eq!(response["status"]["code"], 503, "{response}");
    let message = response["status"]["message"].as_str().unwrap();
    for part in ["IPBlock \"office\"", "all IPs", "2.5s", "kubectl get --raw"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_ip_is_not_read_in_time_gets_the_name_of_that_ip() {
    let (router, _) = webhook(Slow(Duration::from_millis(950)));
    let (_, body) = post(&router, "/mutate/pod", review(&asking(json!({})))).await;
    let text = String::from_utf8_lossy(&body);
    for part in ["shop/web", "partner-a", "900ms", "try again"] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

#[test]
fn the_reads_of_a_review_fit_into_its_time() {
    let pod = Dependencies {
        annotation: Some("partner-a".to_owned()),
        ..Dependencies::default()
    };
    let irrevocable = Dependencies {
        irrevocable: true,
        ..Dependencies::default()
    };
    // The cached objects of a pod can be read for the time of one read, and then the right. An IP has no right.
    assert!(READ_TIMEOUT + pod.limit() + READ_TIMEOUT < TIME);
    assert!(READ_TIMEOUT + Dependencies::default().limit() < TIME);
    assert!(irrevocable.limit() < TIME);
}

#[tokio::test(start_paused = true)]
async fn lists_by_a_connection_without_answers_delay_others_for_a_few_seconds_only() {
    let asked = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&asked);
    // The two lists of the first two readers are not answered, for IPs and for blocks.
    let client = half_open_api_server(move |_, _| {
        let silent = counted.fetch_add(1, Ordering::Relaxed) < 4;
        (!silent).then(|| (200, json!({"metadata": {}, "items": []})))
    });
    let reader = KubeReader::new(client, Caches::default());
    for _ in 0..2 {
        let dependencies = Dependencies::default();
        let late = tokio::time::timeout(dependencies.limit(), reader.fresh(&dependencies)).await;
        assert!(late.is_err(), "its connection has no answers");
    }
    let none = Dependencies::default();
    let third = tokio::time::timeout(REQUEST_TIMEOUT, reader.fresh(&none)).await;
    assert!(third.expect("it is delayed for a few seconds").is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 6);
}
