//! An API server in this process. It has the rules of kube-apiserver that Mooring and the simulated world depend on,
//! uses the clock of the runtime, and can inject faults.
//!
//! A [`kube::Client`] of it ([`ApiServer::client`]) uses HTTP without a socket. Changes by the simulated world
//! (kubelet, scheduler, users) follow the same rules but do not pass the gate: [`ApiServer::create`] and similar
//! functions. `tests/conversation` compares it with the real API server.
//!
//! Not implemented, because nothing here depends on it: authorization, admission, validation against schemas,
//! server-side apply, `managedFields`, `dryRun`, garbage collection.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "reading what is not there in a JSON value gives null; the rest cannot go on"
)]

mod clock;
mod delete;
mod direct;
mod gate;
mod kinds;
mod objects;
mod patch;
mod read;
mod refusal;
mod request;
mod schema;
mod selector;
mod service;
mod state;
mod store;
mod watch;
mod write;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch as news;

use clock::Clock;
pub use direct::Target;
pub use gate::{Entry, Fate, Gate, Outcome, RequestInfo, Reversion, Reverter, Verb};
pub use patch::PatchKind;
pub use refusal::Refusal;
use request::Request;
use state::{Answer, State};
pub use store::Snapshot;

/// A connection without data for this time is closed, as in the clients of Mooring.
const READ_TIMEOUT: Duration = Duration::from_secs(55);

/// The server. Clones are cheap and share the same state.
#[derive(Clone)]
pub struct ApiServer {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    /// Notifies the watches of each change.
    news: news::Sender<()>,
}

impl Default for ApiServer {
    fn default() -> Self {
        Self::new()
    }
}

impl ApiServer {
    /// An empty server, whose clock starts now. Must be called within a runtime.
    #[must_use]
    pub fn new() -> Self {
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(State::new(Clock::start())),
                news: news::Sender::new(()),
            }),
        }
    }

    /// A client of a user. It closes a silent connection after the same time as Mooring.
    #[must_use]
    pub fn client(&self, user: &str) -> kube::Client {
        self.client_with_read_timeout(user, READ_TIMEOUT)
    }

    /// A client that closes a connection without data for this time.
    #[must_use]
    pub fn client_with_read_timeout(&self, user: &str, read_timeout: Duration) -> kube::Client {
        let (server, user) = (self.clone(), user.to_owned());
        let service = tower::service_fn(move |request| {
            service::serve(server.clone(), user.clone(), read_timeout, request)
        });
        kube::Client::new(service, "default")
    }

    /// Sets the function that chooses the handling of each request. It must not call this server.
    pub fn set_gate(&self, gate: Gate) {
        unlocked(&self.inner.state).gate = Some(gate);
    }

    /// From now on another client reverts the updates that this function chooses. It must not call this server.
    pub fn set_reverter(&self, reverter: Option<Reverter>) {
        unlocked(&self.inner.state).reverter = reverter;
    }

    /// All requests, in order.
    #[must_use]
    pub fn history(&self) -> Vec<Entry> {
        self.history_since(0)
    }

    /// All requests from this sequence number on.
    #[must_use]
    pub fn history_since(&self, sequence: u64) -> Vec<Entry> {
        let start = usize::try_from(sequence).unwrap_or(usize::MAX);
        let state = unlocked(&self.inner.state);
        state.history.get(start..).unwrap_or_default().to_vec()
    }

    /// The number of requests so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        unlocked(&self.inner.state).history.len() as u64
    }

    /// The newest version.
    #[must_use]
    pub fn version(&self) -> u64 {
        unlocked(&self.inner.state).objects.store.version()
    }

    /// The present place in the order of all writes.
    #[must_use]
    pub fn order(&self) -> u64 {
        unlocked(&self.inner.state).objects.store.order()
    }

    /// The present time in the format of metadata.
    #[must_use]
    pub fn now(&self) -> String {
        unlocked(&self.inner.state).objects.clock.now()
    }

    /// Ends all watches in order, as during the shutdown of a server.
    pub fn end_watches(&self) {
        self.change(|state| state.era += 1);
    }

    /// Makes all present watches silent permanently, like half-open connections.
    pub fn hang_watches(&self) {
        self.change(|state| state.silent = state.watches);
    }

    /// Drops the whole history: a watch or a list from an earlier version is answered with 410.
    pub fn compact(&self) {
        self.compact_to(0);
    }

    /// Drops the history of changes except the last ones.
    pub fn compact_to(&self, changes: usize) {
        self.change(|state| state.objects.store.compact(changes));
    }

    /// From now on reads of any version (`resourceVersion=0`) are this number of versions old.
    pub fn set_staleness(&self, versions: u64) {
        self.change(|state| state.staleness = versions);
    }

    /// From now on events reach watches with this delay.
    pub fn set_watch_delay(&self, delay: Duration) {
        self.change(|state| state.watch_delay = delay);
    }

    /// Makes a backup.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        unlocked(&self.inner.state).objects.store.snapshot()
    }

    /// Restores a backup with its versions. All watches end, and the history of changes is dropped.
    pub fn restore(&self, snapshot: Snapshot) {
        self.change(|state| {
            state.objects.store.restore(snapshot);
            state.era += 1;
        });
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let done = change(&mut unlocked(&self.inner.state));
        self.inner.news.send_replace(());
        done
    }

    /// Adds a request to the history, and asks the gate for its handling.
    fn arrive(&self, mut request: Request) -> (Request, Fate) {
        let mut state = unlocked(&self.inner.state);
        state.note(&mut request.info);
        let gate = state.gate.take();
        drop(state);
        let Some(mut gate) = gate else {
            return (request, Fate::Serve);
        };
        let fate = gate(&request.info);
        let mut state = unlocked(&self.inner.state);
        if state.gate.is_none() {
            state.gate = Some(gate);
        }
        if let Some(entry) = state.entry(request.info.sequence) {
            entry.fate = fate;
        }
        (request, fate)
    }

    fn execute(&self, request: &Request) -> Answer {
        if request.info.verb.writes() {
            return self.change(|state| state.execute(request));
        }
        // The request has changed nothing, so no watch has an event.
        unlocked(&self.inner.state).execute(request)
    }

    /// Records that the answer has reached its client.
    fn answered(&self, sequence: u64) {
        let mut state = unlocked(&self.inner.state);
        let now = state.objects.clock.elapsed();
        if let Some(entry) = state.entry(sequence) {
            entry.answered = Some(now);
        }
    }
}

fn unlocked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("no panic while the lock is held")
}
