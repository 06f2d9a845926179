//! Tests of the requests that the API server receives.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::Method;
use mooring_plan::reason::EventType;
use serde_json::{Value, json};

use super::{NOTE_BYTES, NewEvent, NotPosted, Poster, Reporter, shortened};
use crate::events::Subject;
use crate::fake_api::{api_server, failure};

/// Posts Events on one pod, at times that the test gives.
struct Pod {
    poster: Poster,
    seconds: Arc<AtomicU64>,
    requests: Arc<Mutex<Vec<(Method, Value)>>>,
}

impl Pod {
    fn new() -> Self {
        Self::answered(|_, event| (201, event))
    }

    fn answered(answer: impl Fn(&Method, Value) -> (u16, Value) + Clone + Send + 'static) -> Self {
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let seen = Arc::clone(&requests);
        let client = api_server(move |method, _, body| {
            seen.lock().unwrap().push((method.clone(), body.clone()));
            answer(method, body)
        });
        let reporter = Reporter {
            controller: "mooring",
            instance: "mooring-0".to_owned(),
        };
        let seconds = Arc::<AtomicU64>::default();
        let clock = Arc::clone(&seconds);
        let clock = move || Duration::from_secs(clock.load(Ordering::Relaxed));
        Self {
            poster: Poster::new(client, reporter, clock),
            seconds,
            requests,
        }
    }

    async fn post(&mut self, second: u64, reason: &'static str, note: &str) {
        self.try_post(second, reason, note).await.unwrap();
    }

    async fn try_post(
        &mut self,
        second: u64,
        reason: &'static str,
        note: &str,
    ) -> Result<(), NotPosted> {
        self.seconds.store(second, Ordering::Relaxed);
        let subject = Subject {
            api_version: "v1".to_owned(),
            kind: "Pod",
            namespace: Some("mooring-system".to_owned()),
            name: "mooring-0".to_owned(),
            uid: None,
        };
        let event = NewEvent {
            subject,
            event_type: EventType::Warning,
            reason,
            action: "Serve",
            note: note.to_owned(),
        };
        self.poster.post(&event).await
    }

    /// The note of each Event that was created, and the count that an Event was given.
    fn sent(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let text = |(method, body): &(Method, Value)| match *method {
            Method::POST => body["note"].as_str().unwrap().to_owned(),
            _ => body["series"]["count"].to_string(),
        };
        requests.iter().map(text).collect()
    }
}

#[tokio::test]
async fn another_cause_is_another_event() {
    let mut pod = Pod::new();
    pod.post(0, "CertificateRefused", "no such file").await;
    pod.post(1, "CertificateRefused", "not PEM").await;
    assert_eq!(pod.sent(), ["no such file", "not PEM"]);
}

#[tokio::test]
async fn an_equal_event_is_counted_until_six_minutes_have_passed() {
    let mut pod = Pod::new();
    for second in [0, 359, 718, 1078] {
        pod.post(second, "CertificateRefused", "not PEM").await;
    }
    assert_eq!(pod.sent(), ["not PEM", "2", "3", "not PEM"]);
}

#[tokio::test]
async fn a_repeated_event_that_was_deleted_is_created_again() {
    let gone = Arc::<AtomicBool>::default();
    let deleted = Arc::clone(&gone);
    let mut pod = Pod::answered(move |method, body| match *method {
        Method::PATCH if deleted.load(Ordering::Relaxed) => failure(404),
        _ => (201, body),
    });
    for second in [0, 10] {
        pod.post(second, "CertificateRefused", "not PEM").await;
    }
    gone.store(true, Ordering::Relaxed);
    pod.post(20, "CertificateRefused", "not PEM").await;
    gone.store(false, Ordering::Relaxed);
    // The new Event is counted from one.
    pod.post(30, "CertificateRefused", "not PEM").await;
    assert_eq!(pod.sent(), ["not PEM", "2", "3", "not PEM", "2"]);
    let remembered = &pod.poster.remembered;
    assert_eq!((remembered.posted.len(), remembered.ages.len()), (1, 1));
}

#[tokio::test]
async fn a_posted_event_is_remembered_as_a_number_for_six_minutes() {
    let mut pod = Pod::new();
    for second in 0..100 {
        pod.post(second, "Attached", &second.to_string()).await;
        // This Event is repeated all the time.
        pod.post(second, "CertificateRefused", "not PEM").await;
    }
    let count = |pod: &Pod| {
        let remembered = &pod.poster.remembered;
        (remembered.posted.len(), remembered.ages.len())
    };
    assert_eq!(count(&pod), (101, 101));
    // The first 60 are removed. The repeated one was checked once.
    pod.post(419, "CertificateRefused", "not PEM").await;
    assert_eq!(count(&pod), (41, 41));
    assert_eq!(pod.sent().last().unwrap(), "101");
    pod.post(459, "Attached", "0").await;
    assert_eq!(count(&pod), (2, 2));
    assert_eq!(pod.sent().last().unwrap(), "0");
}

#[tokio::test]
async fn only_a_refusal_by_a_terminating_namespace_is_no_failure() {
    let refused = |cause: &'static str| {
        let causes = json!([{"reason": cause, "field": "metadata.namespace",
            "message": "namespace gone is being terminated"}]);
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
            "reason": "Forbidden", "message": "unable to create new content in namespace gone because it is being \
            terminated", "details": {"name": "x", "kind": "events", "causes": causes}});
        Pod::answered(move |_, _| (403, status.clone()))
    };
    let mut ends = refused("NamespaceTerminating");
    assert!(ends.try_post(0, "Detached", "off").await.is_ok());
    let mut other = refused("Other");
    assert!(other.try_post(0, "Detached", "off").await.is_err());
}

#[test]
fn a_note_never_exceeds_the_limit_of_the_api_server() {
    assert_eq!(shortened("short"), "short");
    for length in 300..=1200 {
        assert!(shortened(&"ä€".repeat(length)).len() <= NOTE_BYTES);
    }
}
