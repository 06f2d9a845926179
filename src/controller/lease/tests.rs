//! Tests of the election task: its clock and its writes.

use super::{LeaderElector, NAME, Signals, record, written};
use crate::controller::clock::Clock;
use crate::fake_api::{failure, half_open_api_server};
use crate::metrics::Metrics;
use axum::http::Method;
use kube::Client;
use mooring_plan::lease::{Election, Identity, Leadership, LeaseAnswer, LeaseStep, Spec, Timings};
use mooring_plan::names::ResourceVersion;
use serde_json::{Value, json};
use std::cell::Cell;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const TIMINGS: Timings = Timings {
    duration: Duration::from_secs(15),
    renew_deadline: Duration::from_secs(10),
    retry_period: Duration::from_secs(2),
};

thread_local! {
    static SLEPT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

#[test]
fn a_process_that_slept_past_its_lease_does_not_lead_and_begins_no_call() {
    let clock = Clock::with(|| SLEPT.get());
    let mut election = Election::new(Identity::from("a"), TIMINGS);
    election.take_part();
    let begun = clock.now();
    election.apply(LeaseAnswer::Read(None), begun, clock.now());
    let LeaseStep::Create(spec) = election.step(clock.now()) else {
        panic!("there is no lease");
    };
    let mut lease = written(&spec, None);
    lease.metadata.resource_version = Some("7".to_owned());
    let answer = LeaseAnswer::Wrote(record(&lease).unwrap());
    election.apply(answer, begun, clock.now());
    let lead = election.leadership(clock.now());
    assert!(lead.holds(clock.now()) && lead.may_call(clock.now()));
    // The engine knows only the published leadership: nothing else shows that time has passed.
    SLEPT.set(Duration::from_secs(15));
    assert!(!lead.holds(clock.now()) && !lead.may_call(clock.now()));
    assert_eq!(election.leadership(clock.now()), Leadership::default());
}

fn spec(holder: Option<&str>, acquired: bool) -> Spec {
    Spec {
        holder: holder.map(Identity::from),
        seconds: 15,
        transitions: 3,
        acquired,
    }
}

#[test]
fn a_written_lease_is_read_again() {
    let mut lease = written(&spec(Some("a"), true), None);
    assert_eq!(lease.metadata.name.as_deref(), Some(NAME));
    lease.metadata.resource_version = Some("7".to_owned());
    let read = record(&lease).unwrap();
    assert_eq!(read.version, ResourceVersion(7));
    assert_eq!(read.holder, Some(Identity::from("a")));
    assert_eq!(
        (read.duration, read.transitions),
        (Some(Duration::from_secs(15)), 3)
    );
}

#[test]
fn a_renewal_keeps_when_it_was_acquired_and_says_that_it_was_renewed() {
    let before = written(&spec(Some("a"), true), None);
    let mut after = written(&spec(Some("a"), false), Some(before.clone()));
    let (before, after_spec) = (before.spec.unwrap(), after.spec.clone().unwrap());
    assert_eq!(before.acquire_time, after_spec.acquire_time);
    assert!(before.renew_time <= after_spec.renew_time);
    after = written(&spec(None, false), Some(after));
    after.metadata.resource_version = Some("8".to_owned());
    assert_eq!(record(&after).unwrap().holder, None, "released");
}

/// The holders that were written, and when.
type Holders = Arc<Mutex<Vec<(Instant, String)>>>;

/// An API server with one `Lease`. Watches show nothing.
fn api_server(holders: &Holders) -> Client {
    let (holders, lease) = (Arc::clone(holders), Arc::<Mutex<Option<Value>>>::default());
    half_open_api_server(move |head, mut body| {
        let mut lease = lease.lock().unwrap();
        if head.uri.query().unwrap_or_default().contains("watch=true") {
            return None;
        }
        if head.method != Method::GET {
            let holder = body["spec"]["holderIdentity"].as_str().unwrap_or_default();
            let mut holders = holders.lock().unwrap();
            holders.push((Instant::now(), holder.to_owned()));
            body["metadata"]["resourceVersion"] = json!(holders.len().to_string());
            *lease = Some(body);
        } else if !head.uri.path().ends_with(NAME) {
            return Some((
                200,
                json!({"metadata": {"resourceVersion": "1"}, "items": []}),
            ));
        }
        Some(
            lease
                .clone()
                .map_or_else(|| failure(404), |lease| (200, lease)),
        )
    })
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_resigns_stops_leading_at_once_and_releases_the_lease_after_its_calls() {
    let holders = Holders::default();
    let client = api_server(&holders);
    let clock = Clock::with(|| Duration::ZERO);
    let elector = LeaderElector::new(
        client.clone(),
        client,
        "default",
        "a",
        TIMINGS,
        clock,
        Metrics::new(),
    );
    let (sender, mut leadership) = watch::channel(Leadership::default());
    let (signals, release) = (Signals::default(), CancellationToken::new());
    let running = tokio::spawn(elector.run(sender, signals.clone(), release.clone()));
    tokio::time::sleep(TIMINGS.duration * 2).await;
    assert!(holders.lock().unwrap().is_empty(), "it could not lead yet");
    signals.listed.notify_one();
    let leads = |leadership: &Leadership| leadership.holds(clock.now());
    leadership.wait_for(leads).await.unwrap();
    let resigned = Instant::now();
    signals.resign.notify_one();
    leadership
        .wait_for(|current| !leads(current))
        .await
        .unwrap();
    assert_eq!(resigned.elapsed(), Duration::ZERO);
    // There is no other replica, so it leads again.
    leadership.wait_for(leads).await.unwrap();
    release.cancel();
    running.await.unwrap();
    let holders = holders.lock().unwrap();
    let released = holders
        .iter()
        .position(|(_, holder)| holder.is_empty())
        .unwrap();
    let rounded = Duration::from_millis(10);
    let waited = holders[released].0 - resigned + rounded;
    assert!(waited >= Duration::from_secs(5), "{holders:?}");
    let abstained = holders[released + 1].0 - holders[released].0 + rounded;
    assert!(abstained >= TIMINGS.retry_period * 3, "{holders:?}");
    assert_eq!(holders.last().unwrap().1, "", "released at the end");
}
