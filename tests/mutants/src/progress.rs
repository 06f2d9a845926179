//! Prints the progress.

use std::time::{Duration, Instant};

/// The interval between two printed lines.
const EVERY: Duration = Duration::from_secs(5);

/// The progress of a part of the work.
pub(crate) struct Progress {
    what: &'static str,
    all: usize,
    done: usize,
    begun: Instant,
    printed: Instant,
}

impl Progress {
    pub(crate) fn of(all: usize, what: &'static str) -> Self {
        let now = Instant::now();
        Self {
            what,
            all,
            done: 0,
            begun: now,
            printed: now,
        }
    }

    /// Counts one more item.
    pub(crate) fn step(&mut self, found: &str) {
        self.done += 1;
        if self.printed.elapsed() >= EVERY {
            self.printed = Instant::now();
            let left = self.all.saturating_sub(self.done);
            let took = self.begun.elapsed().as_secs();
            let left = took * left as u64 / self.done as u64;
            println!(
                "{} of {} {}{found}; about {left} s left",
                self.done, self.all, self.what
            );
        }
    }
}
