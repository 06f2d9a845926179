//! Both ends of the queue of Events. `plan` decides which Event is next.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mooring_plan::events::{EventQueue, NewEvent, Taken, WAITING};
use mooring_plan::time;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// What both ends have.
#[derive(Debug)]
struct Shared {
    queue: Mutex<EventQueue>,
    started: Instant,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, EventQueue> {
        // No panic is possible between two related changes, so a poisoned lock still protects consistent data.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> time::Instant {
        time::Instant::START.plus(self.started.elapsed())
    }

    async fn until(&self, due: Option<time::Instant>) {
        match due {
            Some(due) => {
                let due = self.started + due.since(time::Instant::START);
                tokio::time::sleep_until(due).await;
            }
            None => std::future::pending().await,
        }
    }
}

/// The sending end of the queue.
#[derive(Clone, Debug)]
pub struct Queue {
    shared: Arc<Shared>,
    /// Wakes the receiving end. It closes when the last sending end is dropped.
    wake: mpsc::Sender<()>,
}

/// The receiving end of the queue.
#[derive(Debug)]
pub struct Waiting {
    shared: Arc<Shared>,
    woken: mpsc::Receiver<()>,
}

impl Queue {
    /// Both ends of a new queue.
    #[must_use]
    pub fn new() -> (Self, Waiting) {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            started: Instant::now(),
        });
        let (wake, woken) = mpsc::channel(1);
        let queue = Self {
            shared: Arc::clone(&shared),
            wake,
        };
        (queue, Waiting { shared, woken })
    }

    /// Queues an Event. Returns true if an Event is not posted, because the queue is full.
    #[must_use]
    pub fn put(&self, event: NewEvent) -> bool {
        let (reason, on) = (event.reason, event.subject.to_string());
        let mut queue = self.shared.queue();
        let dropped = queue.put(event);
        let first = dropped && queue.begins_to_drop();
        drop(queue);
        if first {
            tracing::warn!(
                reason,
                on,
                "Events are dropped: {WAITING} wait to be posted"
            );
        }
        // If the channel is full, the receiving end will wake anyway.
        let _ = self.wake.try_send(());
        dropped
    }
}

impl Waiting {
    /// How long the Event that was taken waits for the requests in flight.
    #[must_use]
    pub fn wait_for_requests(&self) -> Duration {
        self.shared.queue().wait_for_requests()
    }

    /// The next Event. None: all sending ends were dropped and the queue is empty.
    pub async fn recv(&mut self) -> Option<Taken> {
        loop {
            let now = self.shared.now();
            let (next, due) = {
                let mut queue = self.shared.queue();
                (queue.take(now), queue.next_return())
            };
            if next.is_some() {
                return next;
            }
            tokio::select! {
                woken = self.woken.recv() => if woken.is_none() {
                    // The process ends.
                    return self.shared.queue().take_at_end();
                },
                () = self.shared.until(due) => {}
            }
        }
    }

    /// Puts an Event back that was not posted. Returns false if it is dropped.
    #[must_use]
    pub fn put_back(&self, taken: Taken) -> bool {
        self.shared.queue().put_back(taken, self.shared.now())
    }
}

#[cfg(test)]
mod tests {
    use mooring_plan::events::{NewEvent, Subject};
    use mooring_plan::reason::EventType;

    use super::Queue;

    fn warning(note: &str) -> NewEvent {
        NewEvent {
            subject: Subject {
                api_version: "v1".to_owned(),
                kind: "Pod",
                namespace: Some("shop".to_owned()),
                name: "web".to_owned(),
                uid: None,
            },
            event_type: EventType::Warning,
            reason: "AttachFailed",
            action: "AttachFailed",
            note: note.to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_warning_that_was_put_back_is_given_out_later_or_at_the_end() {
        let (queue, mut waiting) = Queue::new();
        for note in ["first", "second"] {
            let _ = queue.put(warning(note));
        }
        let begun = tokio::time::Instant::now();
        for note in ["first", "second", "first", "second"] {
            let taken = waiting.recv().await.unwrap();
            assert_eq!(taken.event.note, note);
            assert!(waiting.put_back(taken));
        }
        assert!(begun.elapsed().as_secs() >= 15);
        drop(queue);
        let returned = begun.elapsed();
        for note in ["first", "second"] {
            assert_eq!(waiting.recv().await.unwrap().event.note, note);
        }
        assert!(waiting.recv().await.is_none());
        assert_eq!(begun.elapsed(), returned);
    }
}
