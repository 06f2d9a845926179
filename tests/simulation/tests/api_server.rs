//! Tests of the faults that the API server of the simulation can inject: each has its effect, and
//! nothing else.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use kube::runtime::watcher::{self, Event, watcher};
use mooring_simulation::api_server::{ApiServer, Fate, PatchKind, Target, Verb};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// Only waits, so that the clock advances.
async fn seconds(count: u32) {
    sleep(SECOND * count).await;
}

fn ips(server: &ApiServer) -> Api<DynamicObject> {
    Api::all_with(server.client("mooring"), &resource())
}

fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("ip.wgtwo.com", "v1alpha1", "IP"))
}

fn ip(name: &str) -> DynamicObject {
    DynamicObject::new(name, &resource()).data(json!({"spec": {"block": "partners"}}))
}

fn make(server: &ApiServer, name: &str) -> Value {
    let object = json!({"metadata": {"name": name}, "spec": {"block": "partners"}});
    server.create("user", "ips", "", object).unwrap()
}

fn label(server: &ApiServer, name: &str, value: &str) {
    let patch = json!({"metadata": {"labels": {"a": value}}});
    let target = Target::new("ips", "", name);
    server
        .patch("user", target, PatchKind::Merge, patch)
        .unwrap();
}

fn there(server: &ApiServer, name: &str) -> bool {
    server.get("ips", "", name).is_some()
}

/// A server whose gate handles each request of a client in this way.
fn server_with(fate: Fate) -> ApiServer {
    let server = ApiServer::new();
    server.set_gate(Box::new(move |_| fate));
    server
}

#[tokio::test(start_paused = true)]
async fn a_request_is_refused_or_lost_before_or_after_its_execution() {
    for (fate, done, code) in [
        (Fate::Serve, true, Some(201)),
        (Fate::Fail(503), false, Some(503)),
        (Fate::FailAfterCommit(504), true, Some(504)),
        (Fate::LoseRequest, false, None),
        (Fate::LoseAnswer, true, None),
        (Fate::Hang, false, None),
    ] {
        let server = server_with(fate);
        let answer = ips(&server).create(&PostParams::default(), &ip("a")).await;
        let received = match &answer {
            Ok(_) => Some(201),
            Err(kube::Error::Api(status)) => Some(status.code),
            Err(_) => None,
        };
        assert_eq!(received, code, "{fate:?}: {answer:?}");
        assert_eq!(there(&server, "a"), done, "{fate:?}");
        let history = server.history();
        assert_eq!(history.len(), 1);
        assert_eq!(history[0].fate, fate);
        assert_eq!(history[0].outcome.is_some(), done, "{fate:?}");
        assert_eq!(history[0].answered.is_some(), code.is_some(), "{fate:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_request_is_executed_after_the_timeout_of_its_client() {
    let server = server_with(Fate::ServeAfter(SECOND * 7));
    let (ips, new) = (ips(&server), ip("late"));
    let params = PostParams::default();
    let asked = timeout(SECOND * 5, ips.create(&params, &new)).await;
    assert!(asked.is_err(), "its sender did not wait: {asked:?}");
    assert!(!there(&server, "late"));
    seconds(3).await;
    assert!(there(&server, "late"));
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_describes_the_immediate_execution() {
    let server = server_with(Fate::AnswerAfter(SECOND * 3));
    make(&server, "a");
    let (ips, begun) = (ips(&server), Instant::now());
    let params = ListParams::default();
    let list = ips.list(&params);
    let meanwhile = async {
        seconds(1).await;
        make(&server, "b");
    };
    let (list, ()) = tokio::join!(list, meanwhile);
    assert_eq!(list.unwrap().items.len(), 1);
    assert_eq!(begun.elapsed(), SECOND * 3);
}

#[tokio::test(start_paused = true)]
async fn a_gate_distinguishes_requests() {
    let server = ApiServer::new();
    server.set_gate(Box::new(|request| {
        let ours = request.verb == Verb::Create && request.body["metadata"]["name"] == "b";
        if ours && request.user == "mooring" {
            Fate::Fail(403)
        } else {
            Fate::Serve
        }
    }));
    let ips = ips(&server);
    ips.create(&PostParams::default(), &ip("a")).await.unwrap();
    ips.create(&PostParams::default(), &ip("b"))
        .await
        .unwrap_err();
    make(&server, "b");
}

/// The events of a watch of the kube runtime, in a short form.
fn shown(server: &ApiServer) -> tokio::sync::mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    let mut events = watcher(ips(server), watcher::Config::default().timeout(45)).boxed();
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            let text = match event {
                Ok(Event::Init) => "list".to_owned(),
                Ok(Event::InitDone) => "listed".to_owned(),
                Ok(Event::InitApply(object)) => format!("has {}", object.metadata.name.unwrap()),
                Ok(Event::Apply(object)) => format!("new {}", object.metadata.name.unwrap()),
                Ok(Event::Delete(object)) => format!("gone {}", object.metadata.name.unwrap()),
                Err(watcher::Error::WatchError(status)) => format!("error {}", status.code),
                Err(_) => "error".to_owned(),
            };
            let _ = sender.send(text);
        }
    });
    receiver
}

fn news(watch: &mut tokio::sync::mpsc::UnboundedReceiver<String>) -> Vec<String> {
    std::iter::from_fn(|| watch.try_recv().ok()).collect()
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_miss_nothing() {
    let server = ApiServer::new();
    make(&server, "a");
    let mut watch = shown(&server);
    seconds(1).await;
    assert_eq!(news(&mut watch), ["list", "has a", "listed"]);
    server.end_watches();
    make(&server, "b");
    seconds(1).await;
    assert_eq!(news(&mut watch), ["new b"]);
    // The watch ends by itself after 45 s.
    seconds(60).await;
    make(&server, "c");
    seconds(1).await;
    assert_eq!(news(&mut watch), ["new c"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_a_compacted_version_starts_again() {
    let server = ApiServer::new();
    let mut watch = shown(&server);
    seconds(1).await;
    news(&mut watch);
    server.end_watches();
    make(&server, "a");
    server.compact();
    seconds(5).await;
    assert_eq!(news(&mut watch), ["error 410", "list", "has a", "listed"]);
}

#[tokio::test(start_paused = true)]
async fn a_hanging_watch_shows_nothing_until_its_client_times_out() {
    let server = ApiServer::new();
    let mut watch = shown(&server);
    seconds(1).await;
    news(&mut watch);
    server.hang_watches();
    make(&server, "a");
    seconds(45).await;
    assert_eq!(news(&mut watch), [""; 0], "not even its end is received");
    seconds(10).await;
    assert_eq!(
        news(&mut watch),
        ["new a"],
        "kube's runtime waits for the end 5 s longer"
    );

    let params = WatchParams::default().timeout(290);
    let watch = ips(&server).watch(&params, "1").await.unwrap();
    server.hang_watches();
    let begun = Instant::now();
    let received: kube::Result<Vec<WatchEvent<DynamicObject>>> = watch.try_collect().await;
    assert!(received.is_err(), "{received:?}");
    assert_eq!(begun.elapsed(), SECOND * 55);
}

#[tokio::test(start_paused = true)]
async fn watch_events_can_be_late_and_stay_in_order() {
    let server = ApiServer::new();
    let mut watch = shown(&server);
    seconds(1).await;
    news(&mut watch);
    server.set_watch_delay(SECOND * 10);
    make(&server, "a");
    seconds(5).await;
    make(&server, "b");
    seconds(4).await;
    assert_eq!(news(&mut watch), [""; 0]);
    seconds(2).await;
    assert_eq!(news(&mut watch), ["new a"]);
    server.set_watch_delay(Duration::ZERO);
    seconds(1).await;
    assert_eq!(news(&mut watch), ["new b"]);
}

#[tokio::test(start_paused = true)]
async fn only_a_request_for_any_version_gets_an_old_one() {
    let server = ApiServer::new();
    make(&server, "a");
    make(&server, "b");
    label(&server, "a", "1");
    server.set_staleness(2);
    let ips = ips(&server);
    let any = ips.list(&ListParams::default().match_any()).await.unwrap();
    assert_eq!(any.items.len(), 1, "before b was made");
    assert_eq!(any.items[0].metadata.labels, None);
    let newest = ips.list(&ListParams::default()).await.unwrap();
    assert_eq!(newest.items.len(), 2);
    assert!(ips.get("b").await.is_ok(), "a read is of the newest");
}

#[tokio::test(start_paused = true)]
async fn a_backup_restores_objects_and_versions_and_uids_stay_unique() {
    let server = ApiServer::new();
    let first = make(&server, "a");
    let backup = server.snapshot();
    let second = make(&server, "b");
    label(&server, "a", "1");
    let ahead = server.version();
    server.restore(backup);
    assert_eq!(server.get("ips", "", "a").as_deref(), Some(&first));
    assert!(!there(&server, "b"));
    let again = make(&server, "b");
    let meta = |object: &Value, field: &str| object["metadata"][field].clone();
    assert_eq!(
        meta(&again, "resourceVersion"),
        meta(&second, "resourceVersion")
    );
    assert_ne!(meta(&again, "uid"), meta(&second, "uid"));

    // A watch from an earlier version receives nothing until that version exists again.
    let params = WatchParams::default().timeout(30);
    let watch = ips(&server)
        .watch(&params, &ahead.to_string())
        .await
        .unwrap();
    make(&server, "c");
    make(&server, "d");
    let received: Vec<WatchEvent<DynamicObject>> = watch.try_collect().await.unwrap();
    let [WatchEvent::Added(only), WatchEvent::Bookmark(_)] = received.as_slice() else {
        panic!("{received:?}");
    };
    assert_eq!(only.metadata.name.as_deref(), Some("d"));
}

#[test]
fn equal_runs_give_equal_answers() {
    let history = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let server = ApiServer::new();
            let mut watch = shown(&server);
            for name in ["a", "b", "c"] {
                make(&server, name);
                seconds(20).await;
            }
            server.compact();
            server.end_watches();
            seconds(20).await;
            format!("{:#?}{:?}", server.history(), news(&mut watch))
        })
    };
    assert_eq!(history(), history());
}
