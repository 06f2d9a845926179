//! The behaviour of EC2 around the rules: throttling, latency, Describe lag and faults. Also the counters and the
//! history that tests read.

pub mod buckets;
mod call;
pub mod control_api;
pub mod counters;
pub mod faults;
pub mod history;
pub mod lag;
mod serve;
pub mod settings;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::state::Ec2;

use buckets::TokenBuckets;
use counters::Counters;
use faults::Faults;
use history::History;
use lag::Snapshots;
use settings::Settings;

pub use serve::serve;

/// EC2 with its behaviour over HTTP. Clones share the same state.
#[derive(Debug, Clone)]
pub struct Emulator {
    inside: Arc<Mutex<Inside>>,
    started: Instant,
}

/// The mutable state, behind one lock that is never held across an await.
#[derive(Debug, Default)]
struct Inside {
    ec2: Ec2,
    seen: Snapshots,
    buckets: TokenBuckets,
    counters: Counters,
    faults: Faults,
    history: History,
    settings: Settings,
    requests: u64,
}

impl Emulator {
    /// An empty EC2.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            inside: Arc::new(Mutex::new(Inside {
                settings,
                ..Inside::default()
            })),
            started: Instant::now(),
        }
    }

    /// Ignores a poisoned lock: a panic leaves no partial change, because each change of the state is a single
    /// assignment.
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time since the start, on the monotonic clock.
    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Milliseconds since 1970, to compare the history with other logs.
fn unix_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, millis)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
