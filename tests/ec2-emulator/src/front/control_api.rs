//! The control API for tests: JSON under `/_emulator`. The README of this crate shows each answer.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::state::Ec2;
use crate::state::id::InstanceId;

use super::Emulator;
use super::faults::{FaultOrder, ReleaseOrder};
use super::settings::Changes;

/// A refused request, with the reason.
struct ControlError(StatusCode, String);

impl IntoResponse for ControlError {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

/// The routes of the control API.
pub(super) fn routes() -> Router<Emulator> {
    Router::new()
        .route("/_emulator/healthz", get(async || "ok"))
        .route("/_emulator/calls", get(calls))
        .route("/_emulator/reset-counters", post(reset_counters))
        .route("/_emulator/history", get(history))
        .route("/_emulator/state", get(state))
        .route(
            "/_emulator/faults",
            get(faults).post(add_fault).delete(clear_faults),
        )
        .route("/_emulator/faults/{id}", delete(clear_fault))
        .route("/_emulator/release", post(release))
        .route("/_emulator/impaired", post(impaired))
        .route("/_emulator/settings", get(settings).post(change_settings))
}

async fn calls(State(emulator): State<Emulator>) -> Json<Value> {
    Json(json!(emulator.lock().counters))
}

async fn reset_counters(State(emulator): State<Emulator>) -> Json<Value> {
    emulator.lock().counters.reset();
    Json(json!({}))
}

/// `?since=N`: only entries with a higher sequence number.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    #[serde(default)]
    since: u64,
}

async fn history(State(emulator): State<Emulator>, Query(query): Query<Since>) -> Json<Value> {
    Json(json!(emulator.lock().history.since(query.since)))
}

/// The state as it is, without lag.
async fn state(State(emulator): State<Emulator>) -> Json<Value> {
    Json(dump(&emulator.lock().ec2))
}

fn dump(ec2: &Ec2) -> Value {
    let interfaces = ec2.interfaces().map(|interface| {
        let tie = interface.attachment.as_ref();
        let prefixes = interface.prefixes.iter();
        json!({
            "network_interface_id": interface.id.to_string(),
            "subnet_id": interface.subnet.to_string(),
            "primary": interface.primary,
            "secondary": interface.secondary,
            "prefixes": prefixes.map(ToString::to_string).collect::<Vec<_>>(),
            "instance_id": tie.map(|tie| tie.instance.to_string()),
            "attachment_id": tie.map(|tie| tie.id.to_string()),
            "device_index": tie.map(|tie| tie.device_index),
            "tags": interface.tags,
        })
    });
    let instances = ec2.instances().map(|instance| {
        json!({
            "instance_id": instance.id.to_string(),
            "instance_type": instance.kind.as_str(),
            "state": instance.state.as_str(),
            "subnet_id": instance.subnet.to_string(),
        })
    });
    json!({
        "network_interfaces": interfaces.collect::<Vec<_>>(),
        "instances": instances.collect::<Vec<_>>(),
    })
}

async fn faults(State(emulator): State<Emulator>) -> Json<Value> {
    let inside = emulator.lock();
    let held: Vec<_> = inside.faults.held.calls().collect();
    Json(json!({ "pending": inside.faults.pending(), "held": held }))
}

async fn add_fault(
    State(emulator): State<Emulator>,
    Json(order): Json<FaultOrder>,
) -> Result<Json<Value>, ControlError> {
    let fault = order
        .check()
        .map_err(|error| ControlError(StatusCode::BAD_REQUEST, error.to_string()))?;
    Ok(Json(json!({ "id": emulator.lock().faults.add(fault) })))
}

async fn clear_faults(State(emulator): State<Emulator>) -> Json<Value> {
    Json(json!({ "cleared": emulator.lock().faults.clear(None) }))
}

async fn clear_fault(
    State(emulator): State<Emulator>,
    Path(id): Path<u64>,
) -> Result<Json<Value>, ControlError> {
    let cleared = emulator.lock().faults.clear(Some(id));
    if cleared.is_empty() {
        let why = format!("no fault {id} is pending");
        return Err(ControlError(StatusCode::NOT_FOUND, why));
    }
    Ok(Json(json!({ "cleared": cleared })))
}

async fn release(
    State(emulator): State<Emulator>,
    Json(order): Json<ReleaseOrder>,
) -> Result<Json<Value>, ControlError> {
    let released = emulator.lock().faults.held.release(&order);
    if released.is_empty() && !order.all {
        let why = "no call is held by this number".to_owned();
        return Err(ControlError(StatusCode::NOT_FOUND, why));
    }
    Ok(Json(json!({ "released": released })))
}

/// Sets since when the status checks of an instance fail. Without a time they pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImpairedOrder {
    instance_id: String,
    #[serde(default)]
    since: Option<String>,
}

async fn impaired(
    State(emulator): State<Emulator>,
    Json(order): Json<ImpairedOrder>,
) -> Result<Json<Value>, ControlError> {
    let refused = |why: String| ControlError(StatusCode::BAD_REQUEST, why);
    let parsed: Result<InstanceId, _> = order.instance_id.parse();
    let id = parsed.map_err(|error| refused(error.to_string()))?;
    let mut guard = emulator.lock();
    let inside = &mut *guard;
    let changed = inside.ec2.set_impaired(id, order.since);
    changed.map_err(|error| refused(error.to_string()))?;
    let (now, lag) = (emulator.now(), inside.settings.lag());
    inside.seen.record(now, lag, &inside.ec2);
    Ok(Json(json!({})))
}

async fn settings(State(emulator): State<Emulator>) -> Json<Value> {
    let inside = emulator.lock();
    let mut shown = json!(inside.settings);
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("bucket_sizes".to_owned(), json!(inside.buckets.sizes()));
    }
    Json(shown)
}

async fn change_settings(state: State<Emulator>, Json(changes): Json<Changes>) -> Json<Value> {
    {
        let mut inside = state.lock();
        if let Some(lag_ms) = changes.lag_ms {
            inside.settings.lag_ms = lag_ms;
        }
        if let Some(latency_ms) = changes.latency_ms {
            inside.settings.latency_ms = latency_ms;
        }
        if let Some(token_buckets) = changes.token_buckets {
            inside.settings.token_buckets = token_buckets;
            inside.buckets.fill();
        }
        for (action, size) in changes.bucket_sizes {
            inside.buckets.resize(action, size);
        }
        let now = state.now();
        for (action, tokens) in changes.tokens {
            inside.buckets.leave(action, tokens, now);
        }
    }
    settings(state).await
}
