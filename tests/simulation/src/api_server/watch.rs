//! Watches: the changes after a version, in order.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::read::partial;
use super::refusal::Refusal;
use super::state::{Start, State};
use super::store::{Change, Object};
use super::{ApiServer, unlocked};

/// The interval of the bookmarks of a watch.
const BOOKMARKS: Duration = Duration::from_mins(1);
/// The last bookmark is sent this time before the end of the watch.
const BEFORE_THE_END: Duration = Duration::from_secs(2);
/// The default time limit of a watch.
const LASTS: u64 = 30 * 60;

/// One watch on the server.
pub(super) struct Watch {
    server: ApiServer,
    news: watch::Receiver<()>,
    start: Start,
    number: u64,
    era: u64,
    /// The version of the last event.
    version: u64,
    queue: VecDeque<String>,
    ends: Instant,
    bookmark: Option<Instant>,
    /// The client closes a connection without data for this time.
    read_timeout: Duration,
    last: Instant,
    over: bool,
}

/// The result of reading the state.
enum Turn {
    Send,
    End,
    Broken,
    Wait(Instant),
}

impl Watch {
    pub(super) fn new(server: &ApiServer, start: Start, read_timeout: Duration) -> Self {
        let now = Instant::now();
        let ends = now + Duration::from_secs(start.seconds.unwrap_or(LASTS));
        let mut state = unlocked(&server.inner.state);
        state.watches += 1;
        let mut watch = Self {
            server: server.clone(),
            news: server.inner.news.subscribe(),
            number: state.watches,
            era: state.era,
            version: 0,
            queue: VecDeque::new(),
            ends,
            bookmark: None,
            read_timeout,
            last: now,
            over: false,
            start,
        };
        watch.bookmark = watch.next_bookmark(now);
        watch.begin(&state);
        drop(state);
        watch
    }

    fn begin(&mut self, state: &State) {
        let store = &state.objects.store;
        match self.start.asked.version {
            Some(version) if version > 0 => {
                self.version = version;
                if version < store.oldest() {
                    self.expire(version, store.oldest());
                }
            }
            any => {
                let staleness = if any.is_some() { state.staleness } else { 0 };
                let version = store.version().saturating_sub(staleness);
                self.version = version.max(store.oldest());
                let objects = store.list(self.start.kind, &self.start.namespace, self.version);
                for object in objects.values() {
                    if self.start.asked.selector.takes(&object.value) {
                        self.show("ADDED", object);
                    }
                }
            }
        }
    }

    fn expire(&mut self, version: u64, oldest: u64) {
        let refusal = Refusal::expired(format!("too old resource version: {version} ({oldest})"));
        self.event("ERROR", &refusal.status().to_string());
        self.over = true;
    }

    /// The next event; `None` if the watch has ended.
    pub(super) async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if let Some(text) = self.queue.pop_front() {
                self.last = Instant::now();
                return Some(Ok(Bytes::from(text)));
            }
            if self.over {
                return None;
            }
            self.news.mark_unchanged();
            let wake = match self.look() {
                Turn::Send => continue,
                Turn::Wait(wake) => wake,
                Turn::End => return None,
                Turn::Broken => {
                    self.over = true;
                    return Some(Err(io::ErrorKind::TimedOut.into()));
                }
            };
            tokio::select! {
                biased;
                _ = self.news.changed() => {}
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }

    fn look(&mut self) -> Turn {
        let server = self.server.clone();
        let state = unlocked(&server.inner.state);
        let now = Instant::now();
        let broken = self.last + self.read_timeout;
        if state.era != self.era {
            return Turn::End;
        }
        if now >= broken {
            return Turn::Broken;
        }
        if self.number <= state.silent {
            return Turn::Wait(broken);
        }
        if self.version < state.objects.store.oldest() {
            self.expire(self.version, state.objects.store.oldest());
            return Turn::Send;
        }
        let pending = self.catch_up(&state, now);
        if !self.queue.is_empty() {
            return Turn::Send;
        }
        if now >= self.ends {
            return Turn::End;
        }
        if self.bookmark.is_some_and(|at| now >= at) {
            self.bookmark = self.next_bookmark(now);
            let before = pending.as_ref().map(|change| change.version - 1);
            let version = before.unwrap_or_else(|| state.objects.store.version());
            if version >= self.version {
                self.send_version(version);
                return Turn::Send;
            }
        }
        let arrives = pending.map(|change| change.at + state.watch_delay);
        let times = [Some(self.ends), self.bookmark, arrives];
        Turn::Wait(times.into_iter().flatten().fold(broken, Instant::min))
    }

    /// Shows the changes whose event has arrived; returns the first whose event has not.
    fn catch_up(&mut self, state: &State, now: Instant) -> Option<Change> {
        for change in state.objects.store.changes_after(self.version) {
            if change.at + state.watch_delay > now {
                return Some(change.clone());
            }
            self.version = change.version;
            if change.key.is_of(self.start.kind, &self.start.namespace) {
                self.show_change(change);
            }
        }
        None
    }

    fn show_change(&mut self, change: &Change) {
        let selector = &self.start.asked.selector;
        let chosen = |object: &Option<Arc<Object>>| {
            object
                .clone()
                .filter(|object| selector.takes(&object.value))
        };
        match (chosen(&change.before), chosen(&change.after)) {
            (None, Some(after)) => self.show("ADDED", &after),
            (Some(_), Some(after)) => self.show("MODIFIED", &after),
            // The last shown state of the object, with the version of its deletion.
            (Some(before), None) => self.show("DELETED", &before.at(change.version)),
            (None, None) => {}
        }
    }

    fn show(&mut self, what: &str, object: &Object) {
        if self.start.asked.metadata_only {
            self.event(what, &partial(&object.value).to_string());
        } else {
            self.event(what, object.text());
        }
    }

    fn send_version(&mut self, version: u64) {
        let object: Value = json!({
            "kind": self.start.kind.name,
            "apiVersion": self.start.kind.api_version(),
            "metadata": {"resourceVersion": version.to_string(), "creationTimestamp": null},
        });
        self.event("BOOKMARK", &object.to_string());
    }

    fn event(&mut self, what: &str, object: &str) {
        self.queue
            .push_back(format!("{{\"type\":\"{what}\",\"object\":{object}}}\n"));
    }

    fn next_bookmark(&self, now: Instant) -> Option<Instant> {
        let regular = now + BOOKMARKS;
        let last = self.ends.checked_sub(BEFORE_THE_END);
        let next = last.filter(|last| *last > now && *last < regular);
        self.start.bookmarks.then(|| next.unwrap_or(regular))
    }
}
