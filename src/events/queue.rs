//! The queue of Events that wait to be posted. While the API server is slow, an object's Normal Events of one reason
//! become one: only the last of them is posted.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::event::{NewEvent, Subject};

/// The most Events that wait: the API server does not answer, and older Events are not worth more memory.
const WAITING: usize = 1024;

/// What became of an Event that was put into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It waits.
    Waits,
    /// It waits in the place of an earlier one, which is not posted.
    Replaces,
    /// It is not posted: too many wait.
    Dropped,
}

/// The sending end of the queue.
#[derive(Clone, Debug)]
pub struct Queue {
    line: Arc<Mutex<Line>>,
    /// Wakes the receiving end, and shows it that no sending end is left.
    wake: mpsc::Sender<()>,
}

/// The receiving end of the queue.
#[derive(Debug)]
pub struct Waiting {
    line: Arc<Mutex<Line>>,
    woken: mpsc::Receiver<()>,
}

/// The Events in their order.
#[derive(Debug, Default)]
struct Line {
    events: BTreeMap<u64, NewEvent>,
    /// Where the Normal Event of an object and a reason stands.
    normal: HashMap<(Subject, &'static str), u64>,
    next: u64,
    /// An Event was dropped since no Event waited.
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
        // At the end: it tells of what happened after all that wait.
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

/// What Events have in common of which only the last is posted.
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
        // If this is full, the receiving end is about to look.
        let _ = self.wake.try_send(());
        put
    }
}

impl Waiting {
    /// Is the queue at least half full? A full queue drops Events.
    #[must_use]
    pub fn is_half_full(&self) -> bool {
        lock(&self.line).events.len() >= WAITING / 2
    }

    /// The next Event; None: no sending end is left, and nothing waits.
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
    // No panic can happen between two changes that belong together.
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
