//! How many reviews the webhook answers, over connections that are kept.

use std::time::{Duration, Instant};

use serde_json::json;

use super::cluster::Bench;
use super::figures::{Others, figure, number, percentiles};
use crate::harness::webhook_client::{WebhookClient, ask, request, review};

const LENGTH: Duration = Duration::from_secs(5);

pub async fn webhook(bench: &mut Bench<'_>) {
    let scene = bench.scene;
    let client = WebhookClient::new(scene, &bench.mooring);
    let filler = json!({"metadata": {"annotations": {"example.com/filler": "x".repeat(6000)}}});
    let asking = scene.pod_asking("web", &bench.ips[0].name, &filler);
    // As the mutating review has left it.
    let mutated = scene.would_create(&asking).await.accepted();
    for (path, pod) in [("/mutate/pod", asking), ("/validate/pod", mutated)] {
        let review = review(&scene.name, &pod);
        let request = request(path, &review);
        for connections in [1, 64] {
            let asking = (0..connections).map(|_| ask_again_and_again(&client, &request));
            let begun = Instant::now();
            let times = futures::future::join_all(asking).await.concat();
            let rate = number(times.len()) / begun.elapsed().as_secs_f64();
            let (median, most) = percentiles(times);
            figure(
                &format!(
                    "webhook {path}, {} KB, {connections} connections: p50, p99, rate",
                    review.len() / 1000
                ),
                format!("{median:.2} ms, {most:.1} ms, {rate:.0}/s"),
                "6,000/s",
                Others::default(),
            );
        }
    }
}

/// One review after the other over one connection, for [`LENGTH`]. Returns how long each took, in milliseconds.
async fn ask_again_and_again(client: &WebhookClient, request: &str) -> Vec<f64> {
    let mut stream = client.connect().await.expect("the webhook listens");
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < LENGTH {
        let asked = Instant::now();
        let answer = ask(&mut stream, request).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        times.push(asked.elapsed().as_secs_f64() * 1e3);
    }
    times
}
