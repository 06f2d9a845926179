//! Measures how many reviews the webhook answers over persistent connections.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::json;

use super::Extent;
use super::cluster::Bench;
use super::figures::{Figure, expect, number, percentiles};
use super::null_handler::NullHandler;
use crate::harness::webhook_client::{WebhookClient, ask, request, review};

const CONNECTIONS: usize = 64;
/// The approximate size of the answer of Mooring to a mutating review.
const ANSWER: usize = 700;
/// A validating review takes at most this many times as long as the null handler. The goal is 3, and it is missed: see
/// docs/performance.md.
const MOST_RATIO: f64 = 6.0;

/// Reviews that are sent one after the other over each connection.
struct Load {
    key: &'static str,
    what: &'static str,
    client: WebhookClient,
    /// Each connection sends one of these requests repeatedly.
    requests: Vec<String>,
}

impl Load {
    /// Sends the requests over this number of connections. Returns the time of each in milliseconds.
    async fn send(&self, connections: usize, length: Duration) -> Vec<f64> {
        let asking = (0..connections).map(|number| {
            let request = &self.requests[number % self.requests.len()];
            ask_again_and_again(&self.client, request, length)
        });
        join_all(asking).await.concat()
    }
}

pub async fn webhook(bench: &Bench<'_>, extent: Extent) {
    let length = match extent {
        Extent::Quick => Duration::from_secs(1),
        Extent::Full => Duration::from_secs(10),
    };
    let loads = loads(bench).await;
    let body = json!({"response": {"allowed": true, "patch": "x".repeat(ANSWER)}}).to_string();
    let null = NullHandler::start(bench, &body).await;
    let base = Load {
        key: "null",
        what: "null TLS handler in the process of the load, same request",
        client: WebhookClient::at(bench.scene, null.address),
        requests: loads[0].requests.clone(),
    };
    let (mut null_medians, memory) = (Vec::new(), bench.memory());
    for load in [base].into_iter().chain(loads) {
        let size = load.requests[0].len() / 1000;
        for (position, connections) in [1, CONNECTIONS].into_iter().enumerate() {
            let begun = Instant::now();
            let times = load.send(connections, length).await;
            let rate = number(times.len()) / begun.elapsed().as_secs_f64();
            let (median, longest) = percentiles(times);
            let ratio = null_medians.get(position).map(|null| median / null);
            if ratio.is_none() {
                null_medians.push(median);
            }
            // A mutating review waits for a read of the API server.
            if let Some(ratio) = ratio.filter(|_| load.key == "validate" && connections > 1) {
                expect(ratio <= MOST_RATIO, || {
                    format!("a validating review takes {ratio:.1} x the null handler")
                });
            }
            let ratio = ratio.map_or_else(String::new, |ratio| {
                format!(", {ratio:.1} x the null handler")
            });
            let goal = match (load.key, connections) {
                ("null", _) => "",
                (_, 1) => "3 x",
                _ => "6,000/s, 3 x",
            };
            Figure::new(
                &format!("webhook-{}-{connections}", load.key),
                &format!(
                    "{}, {size} KB, {connections} connections: median, longest, rate",
                    load.what
                ),
            )
            .goal(goal)
            .is(format!(
                "{median:.2} ms, {longest:.0} ms, {rate:.0}/s{ratio}"
            ));
        }
    }
    bench.memory_around("webhook", "the load of the webhook", memory);
    let panics = bench
        .mooring
        .metric("mooring_webhook_panics_total", &[])
        .await;
    assert!(panics < 0.5, "{panics} reviews panicked");
}

async fn loads(bench: &Bench<'_>) -> [Load; 3] {
    let scene = bench.scene;
    let client = WebhookClient::new(scene, &bench.mooring);
    let filler = json!({"metadata": {"annotations": {"example.com/filler": "x".repeat(6000)}}});
    let mut asking = Vec::new();
    for ip in &bench.ips[..CONNECTIONS] {
        asking.push(scene.pod_asking("web", &ip.name, &filler));
    }
    // The pod after the mutating review.
    let mutated = scene.would_create(&asking[0]).await.accepted();
    let mutating = asking
        .iter()
        .map(|pod| request("/mutate/pod", &review(&scene.name, pod)));
    let mutating: Vec<String> = mutating.collect();
    let validating = request("/validate/pod", &review(&scene.name, &mutated));
    let load = |key, what, requests| Load {
        key,
        what,
        client: client.clone(),
        requests,
    };
    [
        load(
            "mutate",
            "webhook, mutating review of one IP",
            vec![mutating[0].clone()],
        ),
        load("mutate-64", "webhook, mutating reviews of 64 IPs", mutating),
        load("validate", "webhook, validating review", vec![validating]),
    ]
}

/// Sends mutating reviews of one IP over all connections.
pub async fn mutating(bench: &Bench<'_>, length: Duration) {
    let [load, ..] = loads(bench).await;
    load.send(CONNECTIONS, length).await;
}

/// Sends one review after the other over one connection. Returns the time of each in milliseconds.
async fn ask_again_and_again(client: &WebhookClient, request: &str, length: Duration) -> Vec<f64> {
    let mut stream = client.connect().await.expect("the webhook listens");
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < length {
        let asked = Instant::now();
        let answer = ask(&mut stream, request).await.expect("an answer");
        times.push(asked.elapsed().as_secs_f64() * 1e3);
        let granted = answer.starts_with("HTTP/1.1 200") && answer.contains("\"allowed\":true");
        assert!(granted, "{answer}");
    }
    times
}
