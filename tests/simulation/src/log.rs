//! What happened beside the API server, in one order with it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::api_server::ApiServer;

/// A moment in the order of everything that happens: after which of the API server's writes, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The API server's order by then.
    pub after: u64,
    /// The how many-th moment it is that was asked for.
    pub count: u64,
    /// Simulated time since the start.
    pub at: Duration,
}

/// A line of the trace.
#[derive(Clone, Debug)]
pub struct Line {
    /// When.
    pub moment: Moment,
    /// What.
    pub text: String,
}

#[derive(Default)]
struct Inside {
    lines: Vec<Line>,
    took_effect: u64,
    crashes: u64,
    moments: u64,
    by_hand: u64,
}

/// The lines, and the count of faults. Clones write to the same one.
#[derive(Clone)]
pub struct Log {
    api: ApiServer,
    start: Instant,
    inside: Arc<Mutex<Inside>>,
}

impl Log {
    /// Nothing has happened yet.
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

    /// Now, in the order of everything.
    #[must_use]
    pub fn moment(&self) -> Moment {
        let (after, at) = (self.api.order(), self.now());
        let mut inside = self.lock();
        inside.moments += 1;
        let count = inside.moments;
        Moment { after, count, at }
    }

    /// Writes a line.
    pub fn say(&self, text: impl Into<String>) {
        let line = Line {
            moment: self.moment(),
            text: text.into(),
        };
        self.lock().lines.push(line);
    }

    /// A fault met something.
    pub fn fault(&self, text: impl Into<String>) {
        self.say(text);
        self.lock().took_effect += 1;
    }

    /// A controller was killed.
    pub fn crash(&self, text: impl Into<String>) {
        self.fault(text);
        self.lock().crashes += 1;
    }

    /// A person has to set something right that is not promised to be set right.
    pub fn by_hand(&self, text: impl Into<String>) {
        self.say(text);
        self.lock().by_hand += 1;
    }

    /// How often that was.
    #[must_use]
    pub fn hands(&self) -> u64 {
        self.lock().by_hand
    }

    /// How many faults took effect.
    #[must_use]
    pub fn faults(&self) -> u64 {
        self.lock().took_effect
    }

    /// How many crashes there were.
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
