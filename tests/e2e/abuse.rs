//! Clients that misuse the webhook do not slow other reviews, and do not exhaust its memory.

mod load;
mod process_limits;
mod target;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::task::JoinSet;

use self::load::Load;
use self::process_limits::{limit_open_files, most_open_files, peak_memory};
use self::target::Target;
use crate::harness::scene::Scene;
use crate::harness::webhook_client::last_request;

scenes![
    alone idle_slow_and_malformed_connections_do_not_slow_reviews,
    alone beside_reviews_that_cause_reads_others_are_allowed_and_the_controller_attaches,
    alone reviews_that_grow_when_parsed_stay_below_the_memory_limit,
];

/// The memory limit in `config/default`: 256 MiB.
const MEMORY_LIMIT: usize = 256 << 20;

const PATH: &str = "/mutate/pod";

async fn idle_slow_and_malformed_connections_do_not_slow_reviews(scene: &Scene) {
    let load = Load::from_environment();
    let target = Target::start(scene).await;
    let alone = target.p99(&load).await;
    // In separate tasks, so that they do not delay the measured reviews in the test process.
    let mut others = JoinSet::new();
    let (idle, malformed) = (target.clone(), target.clone());
    limit_open_files(std::process::id(), &most_open_files());
    let open = target.open_idle(load.idle).await;
    others.spawn(async move { idle.keep_idle(open).await });
    others.spawn(async move { malformed.send_malformed(load.malformed_every).await });
    for nth in 0..load.slow {
        let slow = target.clone();
        let head = "POST /mutate/pod HTTP/1.1\r\nX-Slow: ";
        let body = "POST /mutate/pod HTTP/1.1\r\nHost: webhook\r\nContent-Length: 999\r\n\r\n{";
        let beginning = if nth % 2 == 0 { head } else { body };
        others.spawn(async move { slow.send_slowly(beginning).await });
    }
    let loaded = target.p99(&load).await;
    others.shutdown().await;
    println!(
        "verified: {} reviews answered beside {} idle connections, {} slow ones and {} malformed ones a second: \
         p99 {:.1} ms, {:.1} ms without them",
        load.reviews,
        load.idle,
        load.slow,
        1000 / load.malformed_every.as_millis(),
        loaded.as_secs_f64() * 1e3,
        alone.as_secs_f64() * 1e3
    );
    assert!(
        !load.timed || loaded <= 3 * alone,
        "more than three times as long"
    );
}

async fn beside_reviews_that_cause_reads_others_are_allowed_and_the_controller_attaches(
    scene: &Scene,
) {
    let load = Load::from_environment();
    let target = Target::start(scene).await;
    let alone = target.p99(&load).await;
    let mut others = JoinSet::new();
    let answered = Arc::<AtomicUsize>::default();
    for nth in 0..load.asking {
        let (asking, answered) = (target.clone(), Arc::clone(&answered));
        others.spawn(async move { asking.ask_for_missing_ips(nth, answered).await });
    }
    let begun = Instant::now();
    // `measure` asserts that each is allowed.
    let loaded = target.p99(&load).await;
    scene.node("a").await;
    let ip = scene.ip("meanwhile", 11).await;
    scene.pod("meanwhile", &ip).await;
    scene.expect_attached(&ip, "meanwhile").await;
    let count = answered.load(Ordering::Relaxed);
    let seconds = begun.elapsed().as_secs_f64();
    others.shutdown().await;
    assert!(count > load.asking, "{count} were answered");
    println!(
        "verified: {} reviews allowed and an address attached beside {} clients that ask for IPs that do not exist \
         ({:.0} reviews a second): p99 {:.1} ms, {:.1} ms without them",
        load.reviews,
        load.asking,
        f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / seconds,
        loaded.as_secs_f64() * 1e3,
        alone.as_secs_f64() * 1e3
    );
}

async fn reviews_that_grow_when_parsed_stay_below_the_memory_limit(scene: &Scene) {
    let target = Target::start(scene).await;
    let before = peak_memory(&target.mooring);
    let largest = 3 << 20;
    let pod = |spec: &str| {
        format!(
            r#"{{"request":{{"uid":"1","operation":"CREATE","object":{{"apiVersion":"v1","kind":"Pod","spec":{spec}}}}}}}"#
        )
    };
    let full_of =
        |item: &str, count: usize| format!("[{}{item}]", format!("{item},").repeat(count));
    let reviews = [
        full_of(r#"{"":0}"#, largest / 7 - 2),
        pod(&format!(
            r#"{{"volumes":{}}}"#,
            full_of("{}", largest / 3 - 60)
        )),
        pod(&format!(r#"{{"volumes":{}}}"#, full_of("{}", 9_000))),
        pod(&format!(r#"{{"tolerations":{}}}"#, full_of("{}", 9_000))),
    ];
    for review in &reviews {
        assert!(review.len() <= largest, "{}", review.len());
        let request = last_request(PATH, review);
        let requests = (0..64).map(|_| target.send(&request));
        futures::future::join_all(requests).await;
        // The webhook still answers.
        target.measure().await;
    }
    let peak = peak_memory(&target.mooring);
    println!(
        "verified: 64 reviews at a time that grow when parsed take {} MiB above the {} MiB of a Mooring at work",
        (peak - before) >> 20,
        before >> 20
    );
    assert!(peak < MEMORY_LIMIT, "{peak} bytes");
}
