//! The waits of a watch that fails. The clock of tokio is paused.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{Request, Response};
use futures::StreamExt as _;
use kube::api::ApiResource;
use kube::client::Body;
use kube::{Api, Client};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::{events, watch};
use crate::api::Ip;
use crate::api::read::{Reduced, Whole};

/// The longest time between two tries (operate.md).
const AT_MOST: Duration = Duration::from_secs(10);

/// Follows a watch for this time. Its list is served, the watch itself is refused. Returns when the watch was asked for.
async fn asked_within(outage: Duration) -> Vec<Instant> {
    let asked = Arc::<Mutex<Vec<Instant>>>::default();
    let seen = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let list = json!({"metadata": {"resourceVersion": "7"}, "items": []});
        let (mut code, mut answer) = (200, list);
        if request
            .uri()
            .query()
            .unwrap_or_default()
            .contains("watch=true")
        {
            seen.lock().unwrap().push(Instant::now());
            (code, answer) = (
                503,
                json!({"kind": "Status", "status": "Failure", "code": 503}),
            );
        }
        let answer = Body::from(answer.to_string().into_bytes());
        std::future::ready(Response::builder().status(code).body(answer))
    });
    let client = Client::new(service, "default");
    let api: Api<Reduced<Whole>> = Api::all_with(client, &ApiResource::erase::<Ip>(&()));
    let following = events(api, watch()).for_each(|_| std::future::ready(()));
    timeout(outage, following).await.unwrap_err();
    asked.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn in_a_long_outage_a_watch_is_tried_at_least_every_ten_seconds() {
    let (begun, outage) = (Instant::now(), Duration::from_mins(3));
    let mut asked = asked_within(outage).await;
    asked.push(begun + outage);
    let waits: Vec<_> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits.iter().all(|wait| *wait <= AT_MOST), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn in_a_long_outage_a_watch_is_no_load() {
    let asked = asked_within(Duration::from_mins(3)).await;
    assert!(asked.len() <= 3 + 180 / 5, "{asked:?}");
}
