//! What the API server shows becomes the objects of the node part.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::Api;
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use super::{Objects, WatchState, poll_unwatched_ips};
use crate::fake_api::half_open_api_server;
use crate::node::objects::Pod;

/// More than a request may take, and less than the API client waits for data on a connection.
const SOON: Duration = Duration::from_secs(30);

fn ip(name: &str, spec: &Value, status: &Value) -> Value {
    json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP",
        "metadata": {"name": name, "uid": format!("uid-{name}")}, "spec": spec, "status": status})
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
    let objects = Objects {
        pods: [("uid-web".to_owned(), waiting)].into(),
        ..Objects::default()
    };
    let (out, mut published) = watch::channel(None);
    let known = WatchState {
        objects,
        watched: BTreeSet::new(),
        missing: 0,
        out,
    };
    let known = Arc::new(Mutex::new(known));
    let block = tokio::select! {
        () = poll_unwatched_ips(Api::all(client), known) => None,
        objects = tokio::time::timeout(SOON, published.wait_for(Option::is_some)) => {
            objects.unwrap().unwrap().as_ref().and_then(|objects| objects.ips["partner"].block.clone())
        }
    };
    assert_eq!(block.as_deref(), Some("home"));
}
