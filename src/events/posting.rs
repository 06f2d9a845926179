//! Posts the Events of a queue, one after the other.

use tokio_util::task::TaskTracker;

use super::{Poster, Waiting};
use crate::telemetry::chain;

/// Posts the Events of a queue until it is closed and empty. Each waits for `requests`, a closed tracker, but not for
/// long. `failed` is called for each try that failed.
pub async fn post_queued(
    mut poster: Poster,
    mut queue: Waiting,
    requests: TaskTracker,
    failed: impl Fn(),
) {
    while let Some(taken) = queue.recv().await {
        let longest = queue.wait_for_requests();
        // Also a timer of no time waits for the next millisecond.
        if !longest.is_zero() {
            let _ = tokio::time::timeout(longest, requests.wait()).await;
        }
        if let Err(error) = poster.post(&taken.event).await {
            failed();
            let again = error.is_temporary() && queue.put_back(taken);
            tracing::warn!(error = chain(&error), again, "an Event was not posted");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use kube::Client;
    use mooring_plan::events::{LONGEST_WAIT, NewEvent, Subject};
    use mooring_plan::reason::EventType;
    use tokio::time::Instant;
    use tokio_util::task::TaskTracker;

    use super::post_queued;
    use crate::events::{Poster, Queue, Reporter};
    use crate::fake_api::{api_server, failure};

    const MINUTE: Duration = Duration::from_mins(1);

    fn event(event_type: EventType, on: usize) -> NewEvent {
        NewEvent {
            subject: Subject {
                api_version: "ip.wgtwo.com/v1alpha1".to_owned(),
                kind: "IP",
                namespace: None,
                name: format!("ip-{on}"),
                uid: None,
            },
            event_type,
            reason: "Attached",
            action: "Attached",
            note: "attached".to_owned(),
        }
    }

    fn poster(client: Client) -> Poster {
        let reporter = Reporter {
            controller: "mooring",
            instance: "mooring-0".to_owned(),
        };
        let started = Instant::now();
        Poster::new(client, reporter, move || started.elapsed())
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
        let (queue, waiting) = Queue::new();
        for number in 0..events {
            let _ = queue.put(event(EventType::Normal, number));
        }
        drop(queue);
        let requests = TaskTracker::new();
        requests.close();
        requests.spawn(tokio::time::sleep(request));
        post_queued(poster(client), waiting, requests, || {}).await;
        let times = times.lock().unwrap();
        times.clone()
    }

    /// The codes that the API server answered to one Warning, one after the other, until it was posted or given up.
    /// Asserts that each failure was reported.
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
        let (queue, waiting) = Queue::new();
        let _ = queue.put(event(EventType::Warning, 0));
        let failed = Cell::new(0);
        let requests = TaskTracker::new();
        requests.close();
        // The queue stays open, so that a Warning that was put back waits for its time.
        let until_quiet =
            async { while tokio::time::timeout(MINUTE, known.changed()).await.is_ok() {} };
        tokio::select! {
            () = post_queued(poster(client), waiting, requests, || failed.set(failed.get() + 1)) => {}
            () = until_quiet => {}
        }
        drop(queue);
        let answered = answered.lock().unwrap();
        let refused = answered.iter().filter(|code| **code != 201);
        assert_eq!(failed.get(), refused.count(), "{answered:?}");
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
