//! EC2 in this process: the rules of the emulator, and a connector for the real SDK.

mod calls;
mod connector;
mod ec2_faults;
mod execute;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ec2_emulator::front::buckets::TokenBuckets;
use ec2_emulator::front::lag::Snapshots;
use ec2_emulator::state::Ec2;
use ec2_emulator::state::error::Ec2Error;
use ec2_emulator::state::request::{Change, Changed};

use crate::chance::Chance;
use crate::log::{Log, Moment};

pub use calls::{Call, Execution};
pub use connector::configuration;
pub use ec2_faults::{BEYOND, Ec2Faults, Fate, LATEST};

/// Old states of EC2 are kept for this time.
const LONGEST_LAG: Duration = Duration::from_mins(1);

/// The mutable state.
struct Inside {
    ec2: Ec2,
    seen: Snapshots,
    buckets: TokenBuckets,
    chance: Chance,
    faults: Ec2Faults,
    calls: Vec<Call>,
    /// The paused clients: their calls wait until this time.
    paused: Vec<(String, Duration)>,
    /// The changes by foreign clients, in order.
    foreign: Vec<(Moment, Change)>,
    /// The number of calls whose senders wait for an answer.
    waiting: usize,
    /// The maximum number of interfaces on a page.
    page: Option<usize>,
    /// The number of calls of any kind.
    begun: usize,
}

/// EC2. Clones share the same state.
#[derive(Clone)]
pub struct Cloud {
    inside: Arc<Mutex<Inside>>,
    log: Log,
}

impl std::fmt::Debug for Cloud {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cloud").finish_non_exhaustive()
    }
}

impl Cloud {
    /// An empty account.
    #[must_use]
    pub fn new(seed: u64, log: Log) -> Self {
        Self {
            inside: Arc::new(Mutex::new(Inside {
                ec2: Ec2::default(),
                seen: Snapshots::default(),
                buckets: TokenBuckets::default(),
                chance: Chance::new(seed, "cloud"),
                faults: Ec2Faults::default(),
                calls: Vec::new(),
                paused: Vec::new(),
                foreign: Vec::new(),
                waiting: 0,
                page: None,
                begun: 0,
            })),
            log,
        }
    }

    /// Changes the faults of EC2.
    pub fn set_faults(&self, change: impl FnOnce(&mut Ec2Faults)) {
        change(&mut self.lock().faults);
    }

    /// Delays the calls of this client until then, also after the client stopped waiting for them.
    pub fn pause(&self, client: &str, until: Duration) {
        self.lock().paused.push((client.to_owned(), until));
    }

    /// Changes EC2 as a foreign client.
    ///
    /// # Errors
    /// The refusal of EC2.
    pub fn change(&self, change: Change) -> Result<Changed, Ec2Error> {
        let moment = self.log.moment();
        let mut inside = self.lock();
        let text = format!("world    EC2 {change:?}");
        let changed = inside.ec2.change(change.clone())?;
        inside.record(moment.at);
        inside.foreign.push((moment, change));
        drop(inside);
        self.log.note(text);
        Ok(changed)
    }

    /// Sets the maximum number of interfaces on a page, for all requests.
    pub fn set_page(&self, count: Option<usize>) {
        self.lock().page = count;
    }

    /// Reads the present state.
    pub fn look<T>(&self, look: impl FnOnce(&Ec2) -> T) -> T {
        look(&self.lock().ec2)
    }

    /// All mutating calls, in the order in which they were sent.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// The number of mutating calls that were sent.
    #[must_use]
    pub fn sent(&self) -> usize {
        self.lock().calls.len()
    }

    /// The number of calls of any kind that wait for an answer.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// The number of calls of any kind.
    #[must_use]
    pub fn begun(&self) -> usize {
        self.lock().begun
    }

    /// The changes by foreign clients, in order.
    #[must_use]
    pub fn foreign(&self) -> Vec<(Moment, Change)> {
        self.lock().foreign.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn record(&mut self, now: Duration) {
        // At least the longest lag, so that a lag that starts now can show old states at once.
        let lag = self.faults.lag.max(LONGEST_LAG);
        self.seen.record(now, lag, &self.ec2);
    }
}
