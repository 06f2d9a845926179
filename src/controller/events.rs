//! Events about the decisions and actions of the controller.

use kube::Client;
use mooring_plan::reason::EventType;
use mooring_plan::step::{Notice, Regarding};
use mooring_plan::time;
use tokio_util::task::TaskTracker;

use super::clock::Clock;
use crate::api::names;
use crate::events::{NewEvent, Poster, Queue, Reporter, Subject, Waiting, post_queued};
use crate::metrics::Metrics;

/// The reporting controller in Events.
const CONTROLLER: &str = "mooring";

/// The queue of Events.
#[derive(Clone)]
pub(super) struct Events {
    queue: Queue,
    metrics: Metrics,
}

impl Events {
    /// Both ends of the queue.
    pub(super) fn queue(metrics: Metrics) -> (Self, Waiting) {
        let (queue, events) = Queue::new();
        (Self { queue, metrics }, events)
    }

    /// Logs a notice, and queues it as an Event.
    pub(super) fn report(&self, notice: Notice) {
        let (reason, on) = (notice.reason.as_str(), in_words(&notice.on));
        let message = &notice.message;
        match notice.reason.event_type() {
            EventType::Warning => tracing::warn!(reason, on, "{message}"),
            EventType::Normal => tracing::info!(reason, on, "{message}"),
        }
        if self.queue.put(event(notice)) {
            self.metrics.event_dropped();
        }
    }
}

fn in_words(on: &Regarding) -> String {
    match on {
        Regarding::Ip(name, _) => format!("IP {name}"),
        Regarding::Pod(key, _) => format!("pod {key}"),
        Regarding::Block(name, _) => format!("IPBlock {name}"),
        Regarding::Node(name, _) => format!("node {name}"),
    }
}

fn event(notice: Notice) -> NewEvent {
    let reason = notice.reason.as_str();
    NewEvent {
        subject: subject(&notice.on),
        event_type: notice.reason.event_type(),
        reason,
        action: reason,
        note: notice.message,
    }
}

fn subject(on: &Regarding) -> Subject {
    let ours = || format!("{}/{}", names::GROUP, names::VERSION);
    let (api_version, kind, namespace, name, uid) = match on {
        Regarding::Ip(name, uid) => (ours(), "IP", None, name.to_string(), uid.to_string()),
        Regarding::Block(name, uid) => (ours(), "IPBlock", None, name.to_string(), uid.clone()),
        Regarding::Node(name, uid) => {
            ("v1".to_owned(), "Node", None, name.to_string(), uid.clone())
        }
        Regarding::Pod(key, uid) => (
            "v1".to_owned(),
            "Pod",
            Some(key.namespace.to_string()),
            key.name.clone(),
            uid.to_string(),
        ),
    };
    Subject {
        api_version,
        kind,
        namespace,
        name,
        uid: Some(uid),
    }
}

/// Posts the Events of the queue until it is closed and empty.
pub(super) async fn post(
    client: Client,
    instance: String,
    clock: Clock,
    metrics: Metrics,
    queue: Waiting,
    requests: TaskTracker,
) {
    let reporter = Reporter {
        controller: CONTROLLER,
        instance,
    };
    let clock = move || clock.now().since(time::Instant::START);
    let poster = Poster::new(client, reporter, clock);
    post_queued(poster, queue, requests, move || {
        metrics.reconcile_error("Event");
    })
    .await;
}
