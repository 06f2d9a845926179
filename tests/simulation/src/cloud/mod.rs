//! EC2 in this process: the emulator's rules, reached by the real SDK through a connector of ours.

mod calls;
mod connector;
mod execute;
mod weather;

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
pub use weather::{BEYOND, Fate, LATEST, Weather};

/// The past is kept for so long.
const LONGEST_LAG: Duration = Duration::from_mins(1);

/// Everything that changes.
struct Inside {
    ec2: Ec2,
    seen: Snapshots,
    buckets: TokenBuckets,
    chance: Chance,
    weather: Weather,
    calls: Vec<Call>,
    /// Calls of these clients wait until then: their process stands still.
    paused: Vec<(String, Duration)>,
    /// What a hand that is not ours has put somewhere, in order.
    foreign: Vec<(Moment, Change)>,
    /// Calls whose senders wait for an answer.
    waiting: usize,
    /// So many interfaces are on a page at most.
    page: Option<usize>,
    /// Calls of any kind, so far.
    begun: usize,
}

/// EC2. Clones are the same one.
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
                weather: Weather::default(),
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

    /// Changes how EC2 behaves.
    pub fn weather(&self, change: impl FnOnce(&mut Weather)) {
        change(&mut self.lock().weather);
    }

    /// Calls of this client are held back until then, whatever the client thinks by then.
    pub fn pause(&self, client: &str, until: Duration) {
        self.lock().paused.push((client.to_owned(), until));
    }

    /// Changes something by a hand that is not Mooring's.
    ///
    /// # Errors
    /// EC2's refusal.
    pub fn change(&self, change: Change) -> Result<Changed, Ec2Error> {
        let moment = self.log.moment();
        let mut inside = self.lock();
        let text = format!("world    EC2 {change:?}");
        let changed = inside.ec2.change(change.clone())?;
        inside.record(moment.at);
        inside.foreign.push((moment, change));
        drop(inside);
        self.log.say(text);
        Ok(changed)
    }

    /// An answer shows so many interfaces at most, whatever is asked for.
    pub fn set_page(&self, count: Option<usize>) {
        self.lock().page = count;
    }

    /// Looks at everything, as it is.
    pub fn look<T>(&self, look: impl FnOnce(&Ec2) -> T) -> T {
        look(&self.lock().ec2)
    }

    /// Every mutating call, in the order in which they were sent.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// How many mutating calls were sent.
    #[must_use]
    pub fn sent(&self) -> usize {
        self.lock().calls.len()
    }

    /// For how many calls, of any kind, somebody waits.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// How many calls of any kind there were.
    #[must_use]
    pub fn begun(&self) -> usize {
        self.lock().begun
    }

    /// What others have changed, in order.
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
        // Never less than the longest lag, so that one that begins can look back at once.
        let lag = self.weather.lag.max(LONGEST_LAG);
        self.seen.record(now, lag, &self.ec2);
    }
}
