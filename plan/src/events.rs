//! The queue of Events that wait to be posted. While the API server is slow, Normal Events with the same object and
//! reason replace each other: only the last one is posted. A Warning is more important than any Normal Event, because
//! it is not repeated while it stays true.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use crate::reason::EventType;
use crate::time::Instant;

/// The most Events that wait. It limits the memory while the API server does not answer.
pub const WAITING: usize = 1024;
/// How often a Warning that was not posted is put back.
const RETURNS: u8 = 2;
/// Wait before a Warning that was put back is given out again. Two such waits are longer than the usual restart of an API
/// server.
const RETURN_AFTER: Duration = Duration::from_secs(15);
/// The most time for which an Event waits while requests of IPs are in flight. Both use the same API server, and in a
/// burst the requests are more urgent.
pub const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// The object that an Event is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// Its API group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace, if its kind has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its UID: `kubectl describe` selects an object's Events by it.
    pub uid: Option<String>,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// An Event to be posted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NewEvent {
    /// The object that it is about.
    pub subject: Subject,
    /// Its `type`.
    pub event_type: EventType,
    /// What happened, in one word.
    pub reason: &'static str,
    /// The action that was made or tried, in one word.
    pub action: &'static str,
    /// What happened, in a sentence.
    pub note: String,
}

/// An Event that was taken from the queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taken {
    /// The Event.
    pub event: NewEvent,
    /// How often it was put back.
    returns: u8,
}

/// Events that replace each other.
type Same = (Subject, &'static str);

/// The Events that wait, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventQueue {
    events: BTreeMap<u64, NewEvent>,
    /// The position of the Normal Event of an object and a reason.
    normal: BTreeMap<Same, u64>,
    next: u64,
    /// True if an Event was dropped since the queue was last empty.
    dropping: bool,
    /// Warnings that were put back, and when each is given out again, in order.
    returned: VecDeque<(Instant, Taken)>,
}

impl EventQueue {
    /// Queues an Event. If the queue is full, the oldest Normal Event is dropped for a Warning, and a Normal Event is
    /// dropped itself. Returns true if an Event is dropped.
    #[must_use]
    pub fn put(&mut self, event: NewEvent) -> bool {
        let same = same(&event);
        let replaced = same.as_ref().and_then(|same| self.normal.remove(same));
        if let Some(earlier) = replaced {
            self.events.remove(&earlier);
        }
        let full = self.events.len() >= WAITING;
        if full && !(same.is_none() && self.drop_oldest_normal()) {
            return true;
        }
        // Add it at the end, because it happened after all Events that wait.
        self.normal.extend(same.map(|same| (same, self.next)));
        self.events.insert(self.next, event);
        self.next = self.next.saturating_add(1);
        full
    }

    /// True for the first Event that is dropped since the queue was last empty: a burst is logged once.
    #[must_use]
    pub const fn begins_to_drop(&mut self) -> bool {
        !core::mem::replace(&mut self.dropping, true)
    }

    /// The next Event; None if there is none before [`Self::next_return`].
    pub fn take(&mut self, now: Instant) -> Option<Taken> {
        if self.next_return().is_some_and(|due| due <= now) {
            return self.take_returned();
        }
        self.take_waiting()
    }

    /// The next Event of a queue that gets no more: nothing waits for its time.
    pub fn take_at_end(&mut self) -> Option<Taken> {
        self.take_waiting().or_else(|| self.take_returned())
    }

    /// When the next Warning that was put back is given out again.
    #[must_use]
    pub fn next_return(&self) -> Option<Instant> {
        self.returned.front().map(|(due, _)| *due)
    }

    /// Puts an Event back that was not posted, to be given out again later. Returns false if it is dropped: a Normal
    /// Event, a Warning that was put back twice, and one for which there is no room.
    #[must_use]
    pub fn put_back(&mut self, taken: Taken, now: Instant) -> bool {
        let is_normal = same(&taken.event).is_some();
        if is_normal || taken.returns >= RETURNS || self.returned.len() >= WAITING {
            return false;
        }
        let returns = taken.returns.saturating_add(1);
        let event = taken.event;
        let due = now.plus(RETURN_AFTER);
        self.returned.push_back((due, Taken { event, returns }));
        true
    }

    /// How long an Event waits for the requests in flight: not at all if the queue is at least half full, because a full
    /// queue drops Events.
    #[must_use]
    pub fn wait_for_requests(&self) -> Duration {
        if self.events.len() >= WAITING / 2 {
            Duration::ZERO
        } else {
            LONGEST_WAIT
        }
    }

    /// Returns false if there is no Normal Event.
    fn drop_oldest_normal(&mut self) -> bool {
        let Some(oldest) = self.normal.values().min().copied() else {
            return false;
        };
        let dropped = self.events.remove(&oldest);
        if let Some(same) = dropped.as_ref().and_then(same) {
            self.normal.remove(&same);
        }
        true
    }

    fn take_waiting(&mut self) -> Option<Taken> {
        let Some((_, event)) = self.events.pop_first() else {
            self.dropping = false;
            return None;
        };
        if let Some(same) = same(&event) {
            self.normal.remove(&same);
        }
        Some(Taken { event, returns: 0 })
    }

    fn take_returned(&mut self) -> Option<Taken> {
        self.returned.pop_front().map(|(_, taken)| taken)
    }
}

/// What Events that replace each other have in common. None: the Event is never replaced.
fn same(event: &NewEvent) -> Option<Same> {
    match event.event_type {
        EventType::Normal => Some((event.subject.clone(), event.reason)),
        EventType::Warning => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
