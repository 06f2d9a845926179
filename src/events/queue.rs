//! The queue of Events that wait to be posted.

use tokio::sync::mpsc;

use super::event::NewEvent;

/// The most Events that wait: the API server does not answer, and older Events are not worth more memory.
const WAITING: usize = 1024;

/// The sending end of the queue.
#[derive(Clone, Debug)]
pub struct Queue(mpsc::Sender<NewEvent>);

impl Queue {
    /// Both ends of a new queue.
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<NewEvent>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    /// Queues an Event. It is dropped if the queue is full.
    pub fn put(&self, event: NewEvent) {
        if let Err(refused) = self.0.try_send(event) {
            let event = refused.into_inner();
            let (reason, on) = (event.reason, event.subject.to_string());
            tracing::debug!(reason, on, "an Event was dropped: too many wait");
        }
    }
}
