//! Reviews: for any body, the webhook answers with a review, and adds to a pod exactly what the pod needs.

mod kept;
pub mod world;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use json_patch::Patch;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use mooring::admission::{PATHS, PluginSettings, Webhook, router};
use mooring::api::names::{IP_ANNOTATION, IP_LABEL, IP_UID_ANNOTATION};
use mooring::metrics::Metrics;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::review::kept::{given, kept};
use crate::review::world::Cluster;
use crate::wait;

/// The maximum size. Reviews of the API server are smaller, and the webhook refuses larger ones without reading them.
const LONGEST: usize = 1024 * 1024;

thread_local! {
    /// A router with a filled cache, and one with an empty cache.
    static ROUTERS: [Router; 2] = [false, true].map(|stale| {
        router(Webhook {
            source: Cluster { stale },
            settings: PluginSettings::default(),
            authorize_use: Some(Arc::default()),
            metrics: Metrics::new(),
        })
    });
}

/// The input is the body of a review. It is posted to every path.
pub fn review(data: &[u8]) {
    let _ = verdicts(data);
}

/// The same, and returns the verdict of each path: `true`, `false` or `patched`.
#[must_use]
pub fn verdicts(data: &[u8]) -> Vec<(&'static str, String)> {
    if data.len() > LONGEST {
        return Vec::new();
    }
    let mut verdicts = Vec::new();
    let read: Option<Value> = serde_json::from_slice(data).ok();
    // If the body has two fields `request`, it is not defined which one counts.
    let requests = data.windows(9).filter(|it| it == b"\"request\"").count();
    let read = read.filter(|_| requests == 1);
    for path in PATHS {
        let response = respond(path, data, false);
        well_formed(path, read.as_ref(), &response);
        // An empty cache must not cause a refusal.
        if response["allowed"] == true {
            let stale = respond(path, data, true);
            assert_eq!(stale["allowed"], true, "{path}: {stale}");
            if path.ends_with("/pod") {
                assert_eq!(stale, response, "{path}");
            }
        }
        match patch(&response) {
            Some(patch) if path == "/mutate/pod" => {
                // The webhook skips fields that it does not need. They can be unreadable for other parsers, such as a
                // number that is too large.
                if let Some(asked) = &read {
                    mutated(asked, &patch);
                }
                verdicts.push((path, "patched".to_owned()));
            }
            patch => {
                assert_eq!(patch, None, "{path} changes what it is to judge");
                verdicts.push((path, response["allowed"].to_string()));
            }
        }
    }
    verdicts
}

/// The answer of the webhook, which always has status 200.
fn respond(path: &str, data: &[u8], stale: bool) -> Value {
    let answered = wait(async {
        let request = Request::post(path).body(Body::from(data.to_vec())).unwrap();
        let router = ROUTERS.with(|routers| routers[usize::from(stale)].clone());
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        (
            status,
            response.into_body().collect().await.unwrap().to_bytes(),
        )
    });
    let (status, body) = answered;
    assert_eq!(status, StatusCode::OK, "{path}");
    let review: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(review["apiVersion"], "admission.k8s.io/v1", "{path}");
    assert_eq!(review["kind"], "AdmissionReview", "{path}");
    review["response"].clone()
}

fn well_formed(path: &str, asked: Option<&Value>, response: &Value) {
    if let Some(asked) = asked {
        let uid = asked["request"]["uid"].as_str().unwrap_or_default();
        assert_eq!(response["uid"], uid, "{path}");
    }
    let warnings = response["warnings"].as_array().into_iter().flatten();
    assert!(
        warnings.into_iter().all(Value::is_string),
        "{path}: {response}"
    );
    if response["allowed"] == true {
        return;
    }
    assert_eq!(response["allowed"], false, "{path}");
    let status = &response["status"];
    assert_eq!(status["status"], "Failure", "{path}");
    let known = [(400, "BadRequest"), (403, "Forbidden"), (422, "Invalid")];
    let code = (status["code"].as_u64(), status["reason"].as_str());
    // No other code is possible: everything is available here, and 500 would be a caught panic.
    assert!(
        known
            .map(|(code, reason)| (Some(code), Some(reason)))
            .contains(&code),
        "{path}: {status}"
    );
    // The message has the problem and a remedy.
    let message = status["message"].as_str().unwrap_or_default();
    assert!(
        message.len() > 20 && (message.contains(": ") || message.contains(". ")),
        "{path}: {status}"
    );
}

fn patch(response: &Value) -> Option<Patch> {
    let bytes = response.get("patch").filter(|patch| !patch.is_null())?;
    assert_eq!(
        (&response["allowed"], &response["patchType"]),
        (&json!(true), &json!("JSONPatch"))
    );
    let bytes: Vec<u8> = serde_json::from_value(bytes.clone()).unwrap();
    Some(serde_json::from_slice(&bytes).unwrap())
}

/// Checks the pod after the patch: it has all fields of the user and all that it needs, and a second review adds
/// nothing.
fn mutated(asked: &Value, patch: &Patch) {
    let before = &asked["request"]["object"];
    let mut after = before.clone();
    json_patch::patch(&mut after, patch)
        .unwrap_or_else(|error| panic!("{error}: {patch} on {before}"));
    kept(before, &after);
    given(&after);
    // Fields that the webhook does not read can be anything. But a valid pod must stay valid.
    if serde_json::from_value::<Pod>(before.clone()).is_ok() {
        let pod = serde_json::from_value::<Pod>(after.clone());
        pod.unwrap_or_else(|error| panic!("{error}: {after}"));
    }
    let metadata: ObjectMeta = serde_json::from_value(after["metadata"].clone())
        .unwrap_or_else(|error| panic!("{error}: {after}"));
    let annotations = metadata.annotations.unwrap_or_default();
    let labels = metadata.labels.unwrap_or_default();
    let meant = world::snapshot();
    let meant = meant.ip_meant(&annotations[IP_ANNOTATION]).unwrap();
    let text = |map: &BTreeMap<String, String>, key: &str| map.get(key).cloned();
    assert_eq!(text(&labels, IP_LABEL), Some(meant.name.to_string()));
    assert_eq!(
        text(&annotations, IP_UID_ANNOTATION),
        Some(meant.uid.to_string())
    );

    let mut again = asked.clone();
    again["request"]["object"] = after;
    let again = serde_json::to_vec(&again).unwrap();
    for path in ["/mutate/pod", "/validate/pod"] {
        let response = respond(path, &again, false);
        assert_eq!(response["allowed"], true, "{path}: {response}");
        assert_eq!(response.get("patch"), None, "{path}");
    }
}
