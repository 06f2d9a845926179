//! The log of all events outside of the API server, in a common order with its requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::api_server::ApiServer;

/// A moment in the common order: after which write of the API server, and the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The number of the last write of the API server.
    pub after: u64,
    /// The number of this moment.
    pub count: u64,
    /// Simulated time since the start.
    pub at: Duration,
}

/// A line of the trace.
#[derive(Clone, Debug)]
pub struct Line {
    /// The time of the line.
    pub moment: Moment,
    /// The text of the line.
    pub text: String,
}

#[derive(Default)]
struct Inside {
    lines: Vec<Line>,
    took_effect: u64,
    crashes: u64,
    moments: u64,
    manual_changes: u64,
}

/// The lines, and the number of faults. Clones share the same log.
#[derive(Clone)]
pub struct Log {
    api: ApiServer,
    start: Instant,
    inside: Arc<Mutex<Inside>>,
}

impl Log {
    /// An empty log.
    #[must_use]
    pub fn new(api: ApiServer) -> Self {
        Self {
            api,
            start: Instant::now(),
            inside: Arc::default(),
        }
    }

    /// Simulated time since the start.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// The present moment.
    #[must_use]
    pub fn moment(&self) -> Moment {
        let (after, at) = (self.api.order(), self.now());
        let mut inside = self.lock();
        inside.moments += 1;
        let count = inside.moments;
        Moment { after, count, at }
    }

    /// Writes a line.
    pub fn note(&self, text: impl Into<String>) {
        let line = Line {
            moment: self.moment(),
            text: text.into(),
        };
        self.lock().lines.push(line);
    }

    /// Writes a line, and counts a fault that took effect.
    pub fn fault(&self, text: impl Into<String>) {
        self.note(text);
        self.lock().took_effect += 1;
    }

    /// Writes a line, and counts a killed controller.
    pub fn crash(&self, text: impl Into<String>) {
        self.fault(text);
        self.lock().crashes += 1;
    }

    /// Writes a line, and counts a manual correction.
    pub fn manual_change(&self, text: impl Into<String>) {
        self.note(text);
        self.lock().manual_changes += 1;
    }

    /// The number of manual corrections.
    #[must_use]
    pub fn manual_changes(&self) -> u64 {
        self.lock().manual_changes
    }

    /// The number of faults that took effect.
    #[must_use]
    pub fn faults(&self) -> u64 {
        self.lock().took_effect
    }

    /// The number of killed controllers.
    #[must_use]
    pub fn crashes(&self) -> u64 {
        self.lock().crashes
    }

    /// All lines so far.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.lock().lines.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
