//! Tests of the requests that write the condition of Mooring.

use std::sync::{Arc, Mutex};

use axum::http::Method;
use mooring_plan::names::{PodKey, PodUid, ResourceVersion};
use mooring_plan::reason::Reason;
use mooring_plan::step::GateWrite;
use serde_json::{Value, json};

use super::write;
use crate::controller::apis::Apis;
use crate::controller::effects::patch::PatchOutcome;
use crate::fake_api::api_server;

const THEN: &str = "2026-01-02T03:04:05Z";

fn pod(uid: &str, status: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "uid": uid, "resourceVersion": "7"},
        "status": {"conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"},
            {"type": "ip.wgtwo.com/attached", "status": status, "lastTransitionTime": THEN},
        ]},
    })
}

/// A write of the pod `uid-1`.
fn gate(status: bool, version: Option<ResourceVersion>) -> GateWrite {
    GateWrite {
        pod: PodKey {
            namespace: "shop".into(),
            name: "web".to_owned(),
        },
        uid: PodUid::from("uid-1"),
        version,
        status,
        shown: None,
        reason: Reason::MovedTo,
        message: "as the test has it".to_owned(),
        denied_at: None,
    }
}

/// An API server that has this pod and answers patches with this code. It records the requests.
struct Server {
    apis: Apis,
    requests: Arc<Mutex<Vec<(Method, Value)>>>,
}

impl Server {
    fn new(has: Value, code: u16) -> Self {
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let seen = Arc::clone(&requests);
        let client = api_server(move |method, _, body| {
            seen.lock().unwrap().push((method.clone(), body));
            let failed = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                "reason": "Refused", "message": "no"});
            match (method, code) {
                (&Method::GET, _) | (_, 200) => (200, has.clone()),
                _ => (code, failed),
            }
        });
        Self {
            apis: Apis::new(client),
            requests,
        }
    }

    fn methods(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests
            .iter()
            .map(|(method, _)| method.to_string())
            .collect()
    }

    fn patched(&self) -> Value {
        let requests = self.requests.lock().unwrap();
        requests.last().map(|(_, body)| body.clone()).unwrap()
    }
}

#[tokio::test]
async fn a_loser_is_not_read_before_its_false() {
    for (shown, kept) in [(None, false), (Some(true), false), (Some(false), true)] {
        let server = Server::new(pod("uid-1", "False"), 200);
        let gate = GateWrite {
            shown,
            ..gate(false, None)
        };
        let outcome = write(&server.apis, &gate).await.unwrap();
        assert!(matches!(outcome, PatchOutcome::Done(_)), "{outcome:?}");
        assert_eq!(server.methods(), ["PATCH"]);
        let patch = server.patched();
        // Guarded by the UID, for any version of the pod.
        assert_eq!(patch["metadata"], json!({"uid": "uid-1"}));
        let time = patch.pointer("/status/conditions/0/lastTransitionTime");
        // A field that is not sent is kept.
        assert_eq!(time.is_none(), kept, "{patch}");
    }
}

#[tokio::test]
async fn a_loser_whose_name_another_pod_has_by_now_is_gone() {
    for code in [409, 422] {
        let server = Server::new(pod("uid-2", "False"), code);
        let outcome = write(&server.apis, &gate(false, None)).await.unwrap();
        assert!(matches!(outcome, PatchOutcome::Gone), "{outcome:?}");
        assert_eq!(server.methods(), ["PATCH", "GET"]);
    }
    let server = Server::new(Value::Null, 404);
    let outcome = write(&server.apis, &gate(false, None)).await.unwrap();
    assert!(matches!(outcome, PatchOutcome::Gone), "{outcome:?}");
    assert_eq!(server.methods(), ["PATCH"]);
}

#[tokio::test]
async fn a_winner_is_written_at_its_version_without_a_read() {
    let server = Server::new(pod("uid-1", "False"), 200);
    let version = Some(ResourceVersion(7));
    write(&server.apis, &gate(true, version)).await.unwrap();
    assert_eq!(server.methods(), ["PATCH"]);
    assert_eq!(
        server.patched()["metadata"],
        json!({"uid": "uid-1", "resourceVersion": "7"})
    );
}

#[tokio::test]
async fn a_pod_from_before_a_restoration_is_not_written_whatever_its_version() {
    let server = Server::new(pod("uid-1", "True"), 200);
    let version = Some(ResourceVersion(0));
    let outcome = write(&server.apis, &gate(false, version)).await.unwrap();
    assert!(matches!(outcome, PatchOutcome::Changed(_)), "{outcome:?}");
    assert_eq!(server.methods(), ["GET"]);
}
