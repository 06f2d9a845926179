//! What the API server shows becomes the objects of the node part.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::api::DynamicObject;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use super::{Change, Objects, TakeIn, WatchState, blocks, ips, poll_unwatched_ips, run};
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

fn all<const N: usize>(objects: [Value; N]) -> Change {
    Change::All(objects.map(parse).into())
}

/// An API server that answers a request for a list with these objects. The watches after it show nothing.
fn lists(of: impl Fn(&str) -> Vec<Value> + Clone + Send + 'static) -> Client {
    let listed = Arc::<std::sync::Mutex<BTreeSet<String>>>::default();
    half_open_api_server(move |_, path, _| {
        let kind = path.rsplit('/').next().unwrap();
        let first = listed.lock().unwrap().insert(kind.to_owned());
        first.then(|| (200, list(of(kind))))
    })
}

fn list(items: Vec<Value>) -> Value {
    json!({"metadata": {"resourceVersion": "9"}, "items": items})
}

#[tokio::test(start_paused = true)]
async fn after_a_read_without_an_answer_the_ip_of_a_waiting_pod_is_read_again() {
    let answering = Arc::<AtomicBool>::default();
    let client = half_open_api_server(move |_, _, _| {
        let answers = answering.swap(true, Ordering::Relaxed);
        answers.then(|| (200, ip("partner", &json!({"block": "home"}), &Value::Null)))
    });
    let waiting = Pod {
        name: "shop/web".to_owned(),
        wants: "partner".to_owned(),
        address: None,
        host_network: false,
    };
    let (mut known, mut published) = known();
    known.objects.pods.insert("uid-web".to_owned(), waiting);
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
async fn an_object_that_cannot_be_read_hides_no_other() {
    let client = lists(|kind| match kind {
        "ipblocks" => vec![broken(block("home")), block("office")],
        "ips" => vec![broken(claimed("partner-a")), claimed("partner-b")],
        _ => Vec::new(),
    });
    let (out, mut published) = watch::channel(None);
    let objects = tokio::select! {
        () = run(client, "node-a".to_owned(), out) => None,
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
    let kinds: [(TakeIn, Value); 2] = [(blocks, block("a")), (ips, claimed("a"))];
    for (take_in, readable) in kinds {
        take_in(&mut known, all([readable.clone()]));
        let before = known.objects.clone();
        take_in(&mut known, all([broken(readable.clone())]));
        assert_eq!(known.objects, before);
        take_in(&mut known, Change::There(parse(broken(readable))));
        assert_eq!(known.objects, before);
    }
    blocks(&mut known, Change::Gone(parse(broken(block("a")))));
    ips(&mut known, all([]));
    assert!(known.objects.blocks.is_empty());
    assert_eq!(known.objects.ips["a"].claim, None);
}
