//! Events about the decisions and actions of the controller.

use kube::Client;
use mooring_plan::reason::EventType;
use mooring_plan::step::{Notice, Regarding};
use mooring_plan::time;
use tokio_util::task::TaskTracker;

use super::clock::Clock;
use crate::api::names;
use crate::events::{self, NewEvent, Queue, Reporter, Subject, Waiting};
use crate::metrics::Metrics;
use crate::telemetry::chain;

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

/// Posts the Events of the queue.
pub(super) struct Poster {
    poster: events::Poster,
    metrics: Metrics,
}

impl Poster {
    pub(super) fn new(client: Client, instance: String, clock: Clock, metrics: Metrics) -> Self {
        let reporter = Reporter {
            controller: CONTROLLER,
            instance,
        };
        let clock = move || clock.now().since(time::Instant::START);
        Self {
            poster: events::Poster::new(client, reporter, clock),
            metrics,
        }
    }

    /// Runs until the queue is closed and empty.
    pub(super) async fn run(mut self, mut queue: Waiting, requests: TaskTracker) {
        while let Some(taken) = queue.recv().await {
            let longest = queue.wait_for_requests();
            // Also a timer of no time waits for the next millisecond.
            if !longest.is_zero() {
                let _ = tokio::time::timeout(longest, requests.wait()).await;
            }
            if let Err(error) = self.poster.post(&taken.event).await {
                self.metrics.reconcile_error("Event");
                let again = error.is_temporary() && queue.put_back(taken);
                tracing::warn!(error = chain(&error), again, "an Event was not posted");
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use mooring_plan::events::LONGEST_WAIT;
    use mooring_plan::names::{IpName, IpUid};
    use mooring_plan::reason::Reason;
    use mooring_plan::step::{Notice, Regarding};
    use tokio::time::Instant;
    use tokio_util::task::TaskTracker;

    use super::{Clock, Events, Metrics, Poster};
    use crate::fake_api::{api_server, failure};

    const MINUTE: Duration = Duration::from_mins(1);

    fn notice(ip: usize) -> Notice {
        Notice {
            on: Regarding::Ip(IpName::new(format!("ip-{ip}")), IpUid::from("uid")),
            reason: Reason::Attached,
            message: "attached".to_owned(),
        }
    }

    /// Posts some Events while one request is in flight. `request` is how long that request takes. Returns the time
    /// from the start until each Event is posted.
    async fn posted(events: usize, request: Duration) -> Vec<Duration> {
        let begun = Instant::now();
        let times = Arc::<Mutex<Vec<_>>>::default();
        let seen = Arc::clone(&times);
        let client = api_server(move |_, _, event| {
            seen.lock().unwrap().push(begun.elapsed());
            (201, event)
        });
        let metrics = Metrics::new();
        let (queue, waiting) = Events::queue(metrics.clone());
        for number in 0..events {
            queue.report(notice(number));
        }
        drop(queue);
        let requests = TaskTracker::new();
        requests.close();
        requests.spawn(tokio::time::sleep(request));
        let poster = Poster::new(client, "mooring-0".to_owned(), Clock::start(), metrics);
        poster.run(waiting, requests).await;
        let times = times.lock().unwrap();
        times.clone()
    }

    /// The codes that the API server answered to one Warning, one after the other, until it was posted or given up.
    async fn answered(codes: &'static [u16]) -> Vec<u16> {
        let answered = Arc::<Mutex<Vec<u16>>>::default();
        let seen = Arc::clone(&answered);
        let (answers, mut known) = tokio::sync::watch::channel(());
        let client = api_server(move |_, _, event| {
            let mut seen = seen.lock().unwrap();
            let code = codes.get(seen.len()).copied().unwrap_or(201);
            seen.push(code);
            answers.send_replace(());
            if code == 201 {
                return (code, event);
            }
            failure(code)
        });
        let (queue, waiting) = Events::queue(Metrics::new());
        queue.report(Notice {
            reason: Reason::DriftRepaired,
            ..notice(0)
        });
        let requests = TaskTracker::new();
        requests.close();
        let poster = Poster::new(
            client,
            "mooring-0".to_owned(),
            Clock::start(),
            Metrics::new(),
        );
        // The queue stays open, so that a Warning that was put back waits for its time.
        let until_quiet =
            async { while tokio::time::timeout(MINUTE, known.changed()).await.is_ok() {} };
        tokio::select! {
            () = poster.run(waiting, requests) => {}
            () = until_quiet => {}
        }
        drop(queue);
        let answered = answered.lock().unwrap();
        answered.clone()
    }

    #[tokio::test(start_paused = true)]
    async fn a_warning_that_the_api_server_does_not_take_is_posted_again_at_most_twice() {
        assert_eq!(answered(&[201]).await, [201]);
        assert_eq!(answered(&[503, 429, 201]).await, [503, 429, 201]);
        assert_eq!(answered(&[500, 500, 500, 201]).await, [500, 500, 500]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_warning_that_the_api_server_refuses_is_not_posted_again() {
        assert_eq!(answered(&[403, 201]).await, [403]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_waits_for_the_requests_in_flight() {
        let request = LONGEST_WAIT / 2;
        let times = posted(2, request).await;
        assert_eq!(times.len(), 2);
        assert!(times.iter().all(|time| *time >= request), "{times:?}");
        assert!(times.iter().all(|time| *time < LONGEST_WAIT), "{times:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_is_posted_although_requests_are_always_in_flight() {
        let times = posted(3, LONGEST_WAIT * 100).await;
        assert_eq!(times.len(), 3);
        assert!(
            times.iter().all(|time| *time < LONGEST_WAIT * 4),
            "{times:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn while_many_events_wait_none_waits_for_requests() {
        let times = posted(1000, LONGEST_WAIT * 10_000).await;
        let at_once = times.iter().filter(|time| **time < LONGEST_WAIT);
        assert!(at_once.count() > 400, "{times:?}");
    }
}
