//! The queue of Events that wait to be posted. While the API server is slow, Normal Events with the same object and
//! reason replace each other: only the last one is posted. A Warning is more important than any Normal Event, because
//! it is not repeated while it stays true.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::event::{NewEvent, Subject};

/// The most Events that wait. It limits the memory while the API server does not answer.
const WAITING: usize = 1024;
/// How often a Warning that was not posted is put back.
const RETURNS: u8 = 2;
/// Wait before a Warning that was put back is given out again. Two such waits are longer than the usual restart of an API
/// server.
const RETURN_AFTER: Duration = Duration::from_secs(15);

/// The result of [`Queue::put`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The Event waits.
    Waits,
    /// The Event waits, and replaces an earlier one, which is not posted.
    Replaces,
    /// The Event waits. The queue is full, so that the oldest Normal Event is not posted.
    Displaces,
    /// The Event is not posted, because the queue is full.
    Dropped,
}

/// An Event that was taken from the queue.
#[derive(Debug)]
pub struct Taken {
    /// The Event.
    pub event: NewEvent,
    /// How often it was put back.
    returns: u8,
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
    /// Warnings that were put back, and when each is given out again, in order.
    returned: VecDeque<(Instant, Taken)>,
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
        let put = if let Some(earlier) = key.as_ref().and_then(|key| self.normal.remove(key)) {
            self.events.remove(&earlier);
            Put::Replaces
        } else if self.events.len() < WAITING {
            Put::Waits
        } else if key.is_none() && self.drop_oldest_normal() {
            Put::Displaces
        } else {
            return Put::Dropped;
        };
        // Add it at the end, because it happened after all Events that wait.
        self.normal.extend(key.map(|key| (key, self.next)));
        self.events.insert(self.next, event);
        self.next += 1;
        put
    }

    /// Returns false if there is no Normal Event.
    fn drop_oldest_normal(&mut self) -> bool {
        let Some(oldest) = self.normal.values().min().copied() else {
            return false;
        };
        let dropped = self.events.remove(&oldest);
        if let Some(key) = dropped.as_ref().and_then(merges) {
            self.normal.remove(&key);
        }
        true
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
        let waiting = Waiting {
            line,
            woken,
            returned: VecDeque::new(),
        };
        (queue, waiting)
    }

    /// Queues an Event. If the queue is full, the oldest Normal Event is dropped for a Warning, and a Normal Event is
    /// dropped itself.
    #[must_use]
    pub fn put(&self, event: NewEvent) -> Put {
        let (reason, on) = (event.reason, event.subject.to_string());
        let mut line = lock(&self.line);
        let put = line.put(event);
        let drops = matches!(put, Put::Displaces | Put::Dropped);
        let first = drops && !std::mem::replace(&mut line.dropping, true);
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
    pub async fn recv(&mut self) -> Option<Taken> {
        loop {
            let due = self.returned.front().map(|(due, _)| *due);
            if due.is_some_and(|due| due <= Instant::now()) {
                return self.returned();
            }
            if let Some(event) = self.take() {
                return Some(event);
            }
            tokio::select! {
                woken = self.woken.recv() => if woken.is_none() {
                    // The process ends: nothing waits for its time any more.
                    return self.take().or_else(|| self.returned());
                },
                () = until(due) => {}
            }
        }
    }

    /// Puts an Event back that was not posted, to be given out again later. Returns false if it is dropped: a Normal
    /// Event, a Warning that was put back twice, and one for which there is no room.
    pub fn put_back(&mut self, taken: Taken) -> bool {
        let is_normal = merges(&taken.event).is_some();
        if is_normal || taken.returns >= RETURNS || self.returned.len() >= WAITING {
            return false;
        }
        let returns = taken.returns + 1;
        let event = taken.event;
        let due = Instant::now() + RETURN_AFTER;
        self.returned.push_back((due, Taken { event, returns }));
        true
    }

    fn take(&self) -> Option<Taken> {
        let event = lock(&self.line).take()?;
        Some(Taken { event, returns: 0 })
    }

    fn returned(&mut self) -> Option<Taken> {
        self.returned.pop_front().map(|(_, taken)| taken)
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    // No panic is possible between two related changes, so a poisoned lock still protects consistent data.
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
