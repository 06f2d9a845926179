//! What the API server shows becomes the objects of the node part.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kube::api::DynamicObject;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use super::{
    ApplyChange, Objects, POLL_INTERVAL, WatchChange, WatchState, blocks, ips, poll_unwatched_ips,
    run,
};
use crate::fake_api::half_open_api_server;
use crate::node::objects::Pod;

/// More than a request may take, and less than the API client waits for data on a connection.
const SOON: Duration = Duration::from_secs(30);

fn object(kind: &str, name: &str, spec: &Value, status: &Value) -> Value {
    json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": kind,
        "metadata": {"name": name, "uid": format!("uid-{name}")}, "spec": spec, "status": status})
}

fn ip(name: &str, spec: &Value, status: &Value) -> Value {
    object("IP", name, spec, status)
}

/// An IP that a pod of this node has.
fn claimed(name: &str) -> Value {
    let status = json!({"address": "203.0.113.7", "claimed": true, "claimID": "7", "podUID": "uid-web",
        "node": "node-a", "assigned": true});
    ip(name, &json!({"block": "home"}), &status)
}

fn block(name: &str) -> Value {
    let spec = json!({"cidr": "203.0.113.0/24", "subnetID": "subnet-1", "node": {}});
    object("IPBlock", name, &spec, &Value::Null)
}

/// The same object with a spec that does not match its schema.
fn broken(mut object: Value) -> Value {
    object["spec"] = json!({"cidr": 7, "block": 7});
    object
}

fn known() -> (WatchState, watch::Receiver<Option<Objects>>) {
    let (out, published) = watch::channel(None);
    let known = WatchState {
        objects: Objects::default(),
        watched: BTreeSet::new(),
        missing: 0,
        out,
    };
    (known, published)
}

fn parse(object: Value) -> DynamicObject {
    serde_json::from_value(object).unwrap()
}

fn all<const N: usize>(objects: [Value; N]) -> WatchChange {
    WatchChange::All(objects.map(parse).into())
}

/// An API server that answers requests for lists: `of` gets the kind and how many lists of it came before. The watches
/// show nothing.
fn lists(of: impl Fn(&str, usize) -> Vec<Value> + Clone + Send + 'static) -> Client {
    let listed = Arc::<std::sync::Mutex<BTreeMap<String, usize>>>::default();
    half_open_api_server(move |head, _| {
        if head
            .uri
            .query()
            .is_some_and(|query| query.contains("watch="))
        {
            return None;
        }
        let kind = head.uri.path().rsplit('/').next().unwrap();
        let mut listed = listed.lock().unwrap();
        let count = listed.entry(kind.to_owned()).or_default();
        let before = std::mem::replace(count, *count + 1);
        Some((200, list(&of(kind, before))))
    })
}

fn list(items: &[Value]) -> Value {
    json!({"metadata": {"resourceVersion": "9"}, "items": items})
}

/// A pod that waits for the IP `partner`.
fn waiting(name: &str) -> Pod {
    Pod {
        name: name.to_owned(),
        wants: "partner".to_owned(),
        addresses: Vec::new(),
        host_network: false,
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_read_without_an_answer_the_ip_of_a_waiting_pod_is_read_again() {
    let answering = Arc::<AtomicBool>::default();
    let client = half_open_api_server(move |_, _| {
        let answers = answering.swap(true, Ordering::Relaxed);
        answers.then(|| (200, ip("partner", &json!({"block": "home"}), &Value::Null)))
    });
    let (mut known, mut published) = known();
    let pods = &mut known.objects.pods;
    pods.insert("uid-web".to_owned(), waiting("shop/web"));
    let known = Arc::new(Mutex::new(known));
    let block = tokio::select! {
        () = poll_unwatched_ips(Api::all(client), known) => None,
        objects = tokio::time::timeout(SOON, published.wait_for(Option::is_some)) => {
            objects.unwrap().unwrap().as_ref().and_then(|objects| objects.ips["partner"].block.clone())
        }
    };
    assert_eq!(block.as_deref(), Some("home"));
}

#[tokio::test(start_paused = true)]
async fn the_ip_of_several_waiting_pods_is_read_once_in_each_interval() {
    let reads = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&reads);
    let client = half_open_api_server(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Some((200, ip("partner", &json!({"block": "home"}), &Value::Null)))
    });
    let (mut known, _published) = known();
    for pod in ["shop/web", "shop/store"] {
        known.objects.pods.insert(pod.to_owned(), waiting(pod));
    }
    let known = Arc::new(Mutex::new(known));
    let polling = poll_unwatched_ips(Api::all(client), known);
    let less = POLL_INTERVAL.saturating_sub(Duration::from_millis(1));
    tokio::time::timeout(less, polling).await.unwrap_err();
    assert_eq!(reads.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_hides_no_other() {
    let client = lists(|kind, _| match kind {
        "ipblocks" => vec![broken(block("home")), block("office")],
        "ips" => vec![broken(claimed("partner-a")), claimed("partner-b")],
        _ => Vec::new(),
    });
    let (_restored, restorations) = watch::channel(0);
    let (out, mut published) = watch::channel(None);
    let objects = tokio::select! {
        () = run(client, "node-a".to_owned(), restorations, out) => None,
        objects = tokio::time::timeout(SOON, published.wait_for(Option::is_some)) => {
            objects.unwrap().unwrap().clone()
        }
    };
    let objects = objects.unwrap();
    let names: Vec<&str> = objects
        .blocks
        .keys()
        .chain(objects.ips.keys())
        .map(String::as_str)
        .collect();
    assert_eq!(names, ["office", "partner-b"]);
}

#[test]
fn an_object_that_cannot_be_read_any_more_stays_as_it_was_until_it_is_gone() {
    let (mut known, _published) = known();
    let kinds: [(ApplyChange, Value); 2] = [(blocks, block("a")), (ips, claimed("a"))];
    for (apply, readable) in kinds {
        apply(&mut known, all([readable.clone()]));
        let before = known.objects.clone();
        apply(&mut known, all([broken(readable.clone())]));
        assert_eq!(known.objects, before);
        apply(&mut known, WatchChange::There(parse(broken(readable))));
        assert_eq!(known.objects, before);
    }
    blocks(&mut known, WatchChange::Gone(parse(broken(block("a")))));
    ips(&mut known, all([]));
    assert!(known.objects.blocks.is_empty());
    assert_eq!(known.objects.ips["a"].claim, None);
}

#[tokio::test(start_paused = true)]
async fn after_a_restoration_all_is_listed_again_and_what_is_known_stays_until_then() {
    let client = lists(|kind, before| match (kind, before) {
        ("ipblocks", 0) => vec![block("before")],
        ("ipblocks", _) => vec![block("after")],
        ("ips", 0) => vec![claimed("partner-a")],
        ("ips", _) => vec![claimed("partner-b")],
        _ => Vec::new(),
    });
    let (restored, restorations) = watch::channel(0);
    let (out, mut published) = watch::channel(None);
    let claims = |objects: &Option<Objects>| {
        let ips = objects.iter().flat_map(|objects| &objects.ips);
        let claimed = ips.filter(|(_, ip)| ip.claim.is_some());
        claimed.map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let blocks = |objects: &Option<Objects>| {
        let blocks = objects.iter().flat_map(|objects| objects.blocks.keys());
        blocks.cloned().collect::<Vec<_>>()
    };
    let (mut shown_blocks, mut shown_claims) = (Vec::new(), Vec::new());
    let seen = async {
        while shown_blocks.last() != Some(&vec!["after".to_owned()])
            || shown_claims.last() != Some(&vec!["partner-b".to_owned()])
        {
            published.changed().await.unwrap();
            let objects = published.borrow_and_update().clone();
            shown_blocks.push(blocks(&objects));
            shown_claims.push(claims(&objects));
            restored.send_if_modified(|before| std::mem::replace(before, 1) != 1);
        }
    };
    tokio::select! {
        () = run(client, "node-a".to_owned(), restorations, out) => {}
        seen = tokio::time::timeout(SOON, seen) => seen.unwrap(),
    }
    assert_eq!(shown_blocks.first(), Some(&vec!["before".to_owned()]));
    assert_eq!(shown_claims.first(), Some(&vec!["partner-a".to_owned()]));
    assert!(
        shown_blocks
            .iter()
            .chain(&shown_claims)
            .all(|shown| !shown.is_empty())
    );
}

#[tokio::test(start_paused = true)]
async fn if_one_watch_ends_the_others_do_not_go_on_without_it() {
    let client = half_open_api_server(|head, _| {
        assert!(!head.uri.path().ends_with("/ips"), "as a bug would");
        Some((200, list(&[])))
    });
    let (_restored, restorations) = watch::channel(0);
    let (out, _published) = watch::channel(None);
    let watching = run(client, "node-a".to_owned(), restorations, out);
    tokio::time::timeout(SOON, watching).await.unwrap();
}
