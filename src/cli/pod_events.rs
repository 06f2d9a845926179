//! Events about this process, on its pod.

use kube::Client;
use mooring_plan::reason::EventType;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::api::names;
use crate::events::{NewEvent, Poster, Queue, Reporter, Subject, post_queued};

/// Posts Events on the pod of this process. Outside of a pod it posts nothing.
#[derive(Clone)]
pub struct PodEvents(Option<(Subject, Queue)>);

impl PodEvents {
    /// Starts the task that posts. The task ends when the last clone is dropped.
    pub fn start(client: &Client, namespace: &str) -> Self {
        let given = |variable| std::env::var(variable).ok().filter(|it| !it.is_empty());
        let pod = given("POD_NAME").map(|name| Subject {
            api_version: "v1".to_owned(),
            kind: "Pod",
            namespace: Some(namespace.to_owned()),
            name,
            uid: given("POD_UID"),
        });
        Self(pod.map(|pod| {
            let queue = start(client.clone(), pod.name.clone());
            (pod, queue)
        }))
    }

    /// As outside of a pod.
    #[cfg(test)]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Posts a Warning. An Event that cannot be posted is logged.
    pub fn warn(&self, reason: &'static str, note: String) {
        let Some((pod, queue)) = &self.0 else { return };
        // A full queue is logged by the queue itself.
        let _ = queue.put(NewEvent {
            subject: pod.clone(),
            event_type: EventType::Warning,
            reason,
            action: "Serve",
            note,
        });
    }
}

fn start(client: Client, instance: String) -> Queue {
    let (queue, events) = Queue::new();
    let reporter = Reporter {
        controller: names::GROUP,
        instance,
    };
    let started = Instant::now();
    let poster = Poster::new(client, reporter, move || started.elapsed());
    // These Events wait for no requests.
    let requests = TaskTracker::new();
    requests.close();
    tokio::spawn(post_queued(poster, events, requests, || {}));
    queue
}
