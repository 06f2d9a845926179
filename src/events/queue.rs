//! The queue of Events that wait to be posted. While the API server is slow, Normal Events with the same object and
//! reason replace each other: only the last one is posted.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::event::{NewEvent, Subject};

/// The most Events that wait. It limits the memory while the API server does not answer.
const WAITING: usize = 1024;

/// The result of [`Queue::put`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The Event waits.
    Waits,
    /// The Event waits, and replaces an earlier one, which is not posted.
    Replaces,
    /// The Event is not posted, because the queue is full.
    Dropped,
}

/// The sending end of the queue.
#[derive(Clone, Debug)]
pub struct Queue {
    line: Arc<Mutex<Line>>,
    /// Wakes the receiving end. It closes when the last sending end is dropped.
    wake: mpsc::Sender<()>,
}

/// The receiving end of the queue.
#[derive(Debug)]
pub struct Waiting {
    line: Arc<Mutex<Line>>,
    woken: mpsc::Receiver<()>,
}

/// The Events in order.
#[derive(Debug, Default)]
struct Line {
    events: BTreeMap<u64, NewEvent>,
    /// The position of the Normal Event of an object and a reason.
    normal: HashMap<(Subject, &'static str), u64>,
    next: u64,
    /// Whether an Event was dropped since the queue was last empty.
    dropping: bool,
}

impl Line {
    fn put(&mut self, event: NewEvent) -> Put {
        let key = merges(&event);
        let earlier = key.as_ref().and_then(|key| self.normal.remove(key));
        if let Some(earlier) = earlier {
            self.events.remove(&earlier);
        } else if self.events.len() >= WAITING {
            return Put::Dropped;
        }
        // Add it at the end, because it happened after all Events that wait.
        self.normal.extend(key.map(|key| (key, self.next)));
        self.events.insert(self.next, event);
        self.next += 1;
        match earlier {
            Some(_) => Put::Replaces,
            None => Put::Waits,
        }
    }

    fn take(&mut self) -> Option<NewEvent> {
        let Some((_, event)) = self.events.pop_first() else {
            self.dropping = false;
            return None;
        };
        if let Some(key) = merges(&event) {
            self.normal.remove(&key);
        }
        Some(event)
    }
}

/// The key of Events that replace each other. None: the Event is never replaced.
fn merges(event: &NewEvent) -> Option<(Subject, &'static str)> {
    (event.event_type == "Normal").then(|| (event.subject.clone(), event.reason))
}

impl Queue {
    /// Both ends of a new queue.
    #[must_use]
    pub fn new() -> (Self, Waiting) {
        let line = Arc::<Mutex<Line>>::default();
        let (wake, woken) = mpsc::channel(1);
        let queue = Self {
            line: Arc::clone(&line),
            wake,
        };
        (queue, Waiting { line, woken })
    }

    /// Queues an Event. It is dropped if the queue is full.
    #[must_use]
    pub fn put(&self, event: NewEvent) -> Put {
        let (reason, on) = (event.reason, event.subject.to_string());
        let mut line = lock(&self.line);
        let put = line.put(event);
        let first = put == Put::Dropped && !std::mem::replace(&mut line.dropping, true);
        drop(line);
        if first {
            tracing::warn!(
                reason,
                on,
                "Events are dropped: {WAITING} wait to be posted"
            );
        }
        // If the channel is full, the receiving end will wake anyway.
        let _ = self.wake.try_send(());
        put
    }
}

impl Waiting {
    /// Whether the queue is at least half full. A full queue drops Events.
    #[must_use]
    pub fn is_half_full(&self) -> bool {
        lock(&self.line).events.len() >= WAITING / 2
    }

    /// The next Event. None: all sending ends were dropped and the queue is empty.
    pub async fn recv(&mut self) -> Option<NewEvent> {
        loop {
            let next = lock(&self.line).take();
            if next.is_some() {
                return next;
            }
            if self.woken.recv().await.is_none() {
                return lock(&self.line).take();
            }
        }
    }
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    // No panic is possible between two related changes, so a poisoned lock still protects consistent data.
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
