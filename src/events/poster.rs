//! Posts Events. The `Recorder` of kube is not used: it treats two Events that differ only in their notes as equal, and
//! repeats the first note.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use mooring_plan::events::{NewEvent, Subject};
use serde_json::json;

/// The most bytes of a note (Kubernetes API reference, events.k8s.io/v1).
const NOTE_BYTES: usize = 1024;
/// An equal Event within this time increases the count of the first one.
const SERIES: Duration = Duration::from_mins(6);
/// Time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The reporter that Events name.
#[derive(Clone, Debug)]
pub struct Reporter {
    /// The name of the program.
    pub controller: &'static str,
    /// The name of this process.
    pub instance: String,
}

/// An Event was not posted.
#[derive(Debug, thiserror::Error)]
pub enum NotPosted {
    /// The API server refused the Event, or could not be reached.
    #[error("posting Event {reason} on {on}")]
    Api {
        /// The reason of the Event.
        reason: &'static str,
        /// The object that the Event is about.
        on: String,
        /// The error of the request.
        #[source]
        source: kube::Error,
    },
    /// The API server did not answer in time.
    #[error("posting Event {reason} on {on}: no answer within {REQUEST_TIMEOUT:?}")]
    Late {
        /// The reason of the Event.
        reason: &'static str,
        /// The object that the Event is about.
        on: String,
    },
}

impl NotPosted {
    /// Whether a later attempt can succeed. False: the API server refused the Event itself.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Api {
                source: kube::Error::Api(status),
                ..
            } => status.code == 429 || status.code >= 500,
            Self::Api { .. } | Self::Late { .. } => true,
        }
    }

    /// Whether the API server answered that there is no such Event.
    fn is_not_found(&self) -> bool {
        matches!(self, Self::Api { source: kube::Error::Api(status), .. } if status.code == 404)
    }
}

/// The hash of an Event. A process posts too few Events for a collision to be likely.
type Number = u64;

/// An Event that was posted. Its text is not kept, because a burst can have thousands of Events.
struct Posted {
    /// The suffix of its name, after the name of its object.
    suffix: i128,
    count: i32,
    last: Duration,
}

/// The Events that were posted in the last minutes.
#[derive(Default)]
struct Remembered {
    numbers: RandomState,
    posted: HashMap<Number, Posted>,
    /// The time of each Event when it was queued here, oldest first. Each Event is there once.
    ages: VecDeque<(Duration, Number)>,
}

impl Remembered {
    fn number(&self, event: &NewEvent) -> Number {
        self.numbers.hash_one(event)
    }

    /// Removes old Events. It checks only the oldest entries of `ages`. An Event that was repeated since is queued
    /// again.
    fn forget_old(&mut self, now: Duration) {
        let is_old = |last| now.saturating_sub(last) >= SERIES;
        while let Some((_, number)) = self.ages.pop_front_if(|(last, _)| is_old(*last)) {
            match self.posted.get(&number) {
                Some(posted) if !is_old(posted.last) => {
                    self.ages.push_back((posted.last, number));
                }
                _ => {
                    self.posted.remove(&number);
                }
            }
        }
    }

    /// The posted Event. None: it is unknown or too old to increase its count.
    fn recent(&mut self, number: Number, now: Duration) -> Option<&mut Posted> {
        let posted = self.posted.get_mut(&number)?;
        (now.saturating_sub(posted.last) < SERIES).then_some(posted)
    }

    /// Replaces what is known of an equal Event, whose age stays queued.
    fn add(&mut self, number: Number, suffix: i128, now: Duration) {
        let posted = Posted {
            suffix,
            count: 1,
            last: now,
        };
        if self.posted.insert(number, posted).is_none() {
            self.ages.push_back((now, number));
        }
    }
}

/// Posts Events. Equal Events within a few minutes become one Event with a count.
pub struct Poster {
    client: Client,
    reporter: Reporter,
    clock: Box<dyn Fn() -> Duration + Send>,
    remembered: Remembered,
}

impl Poster {
    /// `clock` returns the time since any fixed moment.
    pub fn new(
        client: Client,
        reporter: Reporter,
        clock: impl Fn() -> Duration + Send + 'static,
    ) -> Self {
        Self {
            client,
            reporter,
            clock: Box::new(clock),
            remembered: Remembered::default(),
        }
    }

    /// Posts an Event, or increases the count of an equal one.
    ///
    /// # Errors
    /// The API server refused it, or did not answer.
    pub async fn post(&mut self, event: &NewEvent) -> Result<(), NotPosted> {
        let now = (self.clock)();
        self.remembered.forget_old(now);
        let number = self.remembered.number(event);
        let events = Api::namespaced(self.client.clone(), namespace(&event.subject));
        if let Some(posted) = self.remembered.recent(number, now) {
            (posted.count, posted.last) = (posted.count.saturating_add(1), now);
            match repeat(&events, event, posted).await {
                // It was deleted, for example after the `--event-ttl` of the API server: it becomes a new Event.
                Err(error) if error.is_not_found() => {}
                repeated => return repeated,
            }
        }
        let at = Timestamp::now();
        let written = self.written(event, at);
        match with_timeout(event, events.create(&PostParams::default(), &written)).await {
            Ok(_) => {}
            // A namespace that is being deleted accepts no new objects, and its Events are deleted with it.
            Err(NotPosted::Api { source, .. }) if of_terminating_namespace(&source) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        self.remembered.add(number, at.as_nanosecond(), now);
        Ok(())
    }

    /// The Event in the form of the API.
    fn written(&self, event: &NewEvent, at: Timestamp) -> Event {
        let subject = &event.subject;
        Event {
            metadata: ObjectMeta {
                name: Some(name(event, at.as_nanosecond())),
                namespace: Some(namespace(subject).to_owned()),
                ..ObjectMeta::default()
            },
            action: Some(event.action.to_owned()),
            event_time: Some(MicroTime(at)),
            note: Some(shortened(&event.note)),
            reason: Some(event.reason.to_owned()),
            regarding: Some(regarding(subject)),
            reporting_controller: Some(self.reporter.controller.to_owned()),
            reporting_instance: Some(self.reporter.instance.clone()),
            type_: Some(event.event_type.as_str().to_owned()),
            ..Event::default()
        }
    }
}

/// The namespace for Events about this object.
fn namespace(subject: &Subject) -> &str {
    subject.namespace.as_deref().unwrap_or("default")
}

fn regarding(subject: &Subject) -> ObjectReference {
    ObjectReference {
        api_version: Some(subject.api_version.clone()),
        kind: Some(subject.kind.to_owned()),
        namespace: subject.namespace.clone(),
        name: Some(subject.name.clone()),
        uid: subject.uid.clone(),
        ..ObjectReference::default()
    }
}

/// The name of an Event, unique by its suffix.
fn name(event: &NewEvent, suffix: i128) -> String {
    format!("{}.{suffix:x}", event.subject.name)
}

/// Writes the new count of an Event.
async fn repeat(events: &Api<Event>, event: &NewEvent, posted: &Posted) -> Result<(), NotPosted> {
    let series = EventSeries {
        count: posted.count,
        last_observed_time: MicroTime(Timestamp::now()),
    };
    let patch = Patch::Merge(json!({ "series": series }));
    let params = PatchParams::default();
    let name = name(event, posted.suffix);
    let patched = events.patch(&name, &params, &patch);
    with_timeout(event, patched).await.map(drop)
}

async fn with_timeout<T>(
    event: &NewEvent,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, NotPosted> {
    let (reason, on) = (event.reason, || event.subject.to_string());
    match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(NotPosted::Api {
            reason,
            on: on(),
            source,
        }),
        Err(_) => Err(NotPosted::Late { reason, on: on() }),
    }
}

/// Whether the namespace is being deleted. The API server reports this by a cause (`corev1.NamespaceTerminatingCause`).
fn of_terminating_namespace(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.reason == "NamespaceTerminating")
}

fn shortened(note: &str) -> String {
    if note.len() <= NOTE_BYTES {
        return note.to_owned();
    }
    let end = note.floor_char_boundary(NOTE_BYTES - '…'.len_utf8());
    let kept = note.get(..end).unwrap_or_default();
    format!("{kept}…")
}

#[cfg(test)]
mod tests;
