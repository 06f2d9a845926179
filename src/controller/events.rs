//! Events, posted beside the path: a user is told, and nothing waits for it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use mooring_plan::names::Millis;
use mooring_plan::step::{Notice, Regarding};
use serde_json::json;
use tokio::sync::mpsc;

use super::clock::Clock;
use super::effects::within;
use super::error::Failure;
use crate::api::names;
use crate::api::reasons::event_type;
use crate::metrics::Metrics;
use crate::telemetry::chain;

/// Who reports.
const CONTROLLER: &str = "mooring";
/// More than this waiting means that the API server is away: the oldest news is not worth memory.
const WAITING: usize = 1024;
/// The most that a note may have (Kubernetes API reference, events.k8s.io/v1).
const NOTE_BYTES: usize = 1024;
/// A thing said again within this time counts up the Event that said it.
const SERIES: Millis = Millis::seconds(360);

/// Where news goes in.
#[derive(Clone)]
pub(super) struct Events(mpsc::Sender<Notice>);

impl Events {
    /// The queue's two ends.
    pub(super) fn queue() -> (Self, mpsc::Receiver<Notice>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    /// Queues an Event; one that finds the queue full is only logged.
    pub(super) fn tell(&self, notice: Notice) {
        let (reason, message, on) = (
            notice.reason.as_str(),
            notice.message.clone(),
            in_words(&notice.on),
        );
        if event_type(notice.reason) == "Warning" {
            tracing::warn!(reason, on, "{message}");
        } else {
            tracing::info!(reason, on, "{message}");
        }
        if self.0.try_send(notice).is_err() {
            tracing::debug!(reason, on, "an Event was dropped: too many wait");
        }
    }
}

fn in_words(on: &Regarding) -> String {
    match on {
        Regarding::Ip(name, _) => format!("IP {name}"),
        Regarding::Pod(key, _) => format!("pod {key}"),
        Regarding::Block(name, _) => format!("IPBlock {name}"),
    }
}

/// Posts what the queue brings.
pub(super) struct Poster {
    client: Client,
    instance: String,
    clock: Clock,
    metrics: Metrics,
    /// The Event of each thing that was said lately, how often, and when last.
    said: BTreeMap<Notice, (String, i32, Millis)>,
}

impl Poster {
    pub(super) const fn new(
        client: Client,
        instance: String,
        clock: Clock,
        metrics: Metrics,
    ) -> Self {
        Self {
            client,
            instance,
            clock,
            metrics,
            said: BTreeMap::new(),
        }
    }

    /// Runs until the queue is closed and empty.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Notice>) {
        while let Some(notice) = queue.recv().await {
            if let Err(failure) = self.post(notice).await {
                self.metrics.reconcile_error("Event");
                tracing::warn!(error = chain(&failure), "an Event was not posted");
            }
        }
    }

    async fn post(&mut self, notice: Notice) -> Result<(), Failure> {
        let now = self.clock.now();
        self.said
            .retain(|_, (_, _, last)| now.since(*last) < SERIES);
        let regarding = reference(&notice.on);
        let namespace = regarding
            .namespace
            .clone()
            .unwrap_or_else(|| "default".to_owned());
        let events: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let doing = || {
            format!(
                "posting Event {} on {}",
                notice.reason.as_str(),
                in_words(&notice.on)
            )
        };
        if let Some((name, count, last)) = self.said.get_mut(&notice) {
            (*count, *last) = (count.saturating_add(1), now);
            let series = EventSeries {
                count: *count,
                last_observed_time: MicroTime(Timestamp::now()),
            };
            let patch = json!({"series": series});
            let name = name.clone();
            within(
                doing,
                events.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)),
            )
            .await?;
            return Ok(());
        }
        let event = self.event(&notice, regarding, namespace);
        let name = event.metadata.name.clone().unwrap_or_default();
        within(doing, events.create(&PostParams::default(), &event)).await?;
        self.said.insert(notice, (name, 1, now));
        Ok(())
    }

    fn event(&self, notice: &Notice, regarding: ObjectReference, namespace: String) -> Event {
        let now = Timestamp::now();
        let object = regarding.name.as_deref().unwrap_or(CONTROLLER);
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{object}.{:x}", now.as_nanosecond())),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            action: Some(notice.reason.as_str().to_owned()),
            event_time: Some(MicroTime(now)),
            note: Some(shortened(&notice.message)),
            reason: Some(notice.reason.as_str().to_owned()),
            regarding: Some(regarding),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(event_type(notice.reason).to_owned()),
            ..Event::default()
        }
    }
}

fn reference(on: &Regarding) -> ObjectReference {
    let ours = || Some(format!("{}/{}", names::GROUP, names::VERSION));
    let (api_version, kind, namespace, name, uid) = match on {
        Regarding::Ip(name, uid) => (ours(), "IP", None, name.to_string(), uid.to_string()),
        Regarding::Block(name, uid) => (ours(), "IPBlock", None, name.to_string(), uid.clone()),
        Regarding::Pod(key, uid) => (
            Some("v1".to_owned()),
            "Pod",
            Some(key.namespace.to_string()),
            key.name.clone(),
            uid.to_string(),
        ),
    };
    ObjectReference {
        api_version,
        kind: Some(kind.to_owned()),
        namespace,
        name: Some(name),
        uid: Some(uid),
        ..ObjectReference::default()
    }
}

fn shortened(message: &str) -> String {
    if message.len() < NOTE_BYTES {
        return message.to_owned();
    }
    let mut note: String = String::new();
    for character in message.chars() {
        if note.len() + character.len_utf8() + '…'.len_utf8() > NOTE_BYTES {
            break;
        }
        note.push(character);
    }
    note.push('…');
    note
}

#[cfg(test)]
mod tests {
    use super::{NOTE_BYTES, shortened};

    #[test]
    fn a_note_never_exceeds_what_the_api_server_takes() {
        assert_eq!(shortened("short"), "short");
        for length in 300..=1200 {
            assert!(shortened(&"ä€".repeat(length)).len() <= NOTE_BYTES);
        }
    }
}
