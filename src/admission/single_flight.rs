//! Shared reads: callers that need the same value at the same time wait for one read.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::FutureExt as _;
use futures::future::Shared;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinError;

/// The most concurrent reads of one value. With two, a caller that comes during a read need not wait for its end. With
/// more, callers would share less.
const AT_A_TIME: usize = 2;

/// The future result of a read. It ends without a value if the read fails.
type Outcome<T> = Shared<oneshot::Receiver<T>>;

/// The reads of one value.
#[derive(Debug)]
struct Reads<T> {
    /// The read that has not started yet. Callers that come now share its result.
    next: Mutex<Option<Outcome<T>>>,
    running: Semaphore,
    /// The limit of concurrent reads of all values.
    turns: Arc<Semaphore>,
}

impl<T> Reads<T> {
    fn new(turns: Arc<Semaphore>) -> Self {
        Self {
            next: Mutex::new(None),
            running: Semaphore::new(AT_A_TIME),
            turns,
        }
    }

    fn next(&self) -> MutexGuard<'_, Option<Outcome<T>>> {
        // Each change is one assignment, so a poisoned lock still protects consistent data.
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a caller gets the value.
enum Role<T> {
    /// From the read of another caller.
    Shares(Outcome<T>),
    /// From its own read.
    Reads(oneshot::Sender<T>, Outcome<T>),
}

/// A value with at most two concurrent reads.
#[derive(Debug)]
pub(super) struct SingleFlight<T>(Arc<Reads<T>>);

impl<T> Clone for SingleFlight<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    /// Each read takes one permit of `turns`.
    pub fn new(turns: Arc<Semaphore>) -> Self {
        Self(Arc::new(Reads::new(turns)))
    }

    /// The result of a read that started after this call: of `read`, or of the read of another caller that waits. The
    /// read continues if this call is dropped: if each caller started again with less time left, none would get an
    /// answer.
    ///
    /// # Errors
    /// The error of `read`. It is not shared: callers that waited for that read start another one.
    pub async fn or<E: Send + 'static>(
        &self,
        read: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        loop {
            match self.role() {
                Role::Shares(outcome) => {
                    if let Ok(value) = outcome.await {
                        return Ok(value);
                    }
                }
                Role::Reads(sender, outcome) => return self.read(read, sender, outcome).await,
            }
        }
    }

    fn role(&self) -> Role<T> {
        let mut next = self.0.next();
        if let Some(outcome) = &*next {
            return Role::Shares(outcome.clone());
        }
        let (sender, outcome) = oneshot::channel();
        let outcome = outcome.shared();
        *next = Some(outcome.clone());
        Role::Reads(sender, outcome)
    }

    async fn read<E: Send + 'static>(
        &self,
        read: impl Future<Output = Result<T, E>> + Send + 'static,
        sender: oneshot::Sender<T>,
        outcome: Outcome<T>,
    ) -> Result<T, E> {
        let reads = Arc::clone(&self.0);
        let reading = tokio::spawn(async move {
            // Neither semaphore is ever closed, so this cannot fail.
            let _running = reads.running.acquire().await;
            let _turn = reads.turns.acquire().await;
            // The read starts now. Later callers need another read.
            drop(reads.next().take());
            if sender.is_closed() {
                // No caller waits any more.
                return None;
            }
            Some(read.await.inspect(|value| {
                let _ = sender.send(value.clone());
            }))
        });
        let read = reading.await;
        drop(outcome);
        match read.map_err(JoinError::try_into_panic) {
            Ok(Some(read)) => read,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // This caller still waits, so the task was cancelled because the runtime shuts down.
            Ok(None) | Err(Err(_)) => std::future::pending().await,
        }
    }
}

/// As [`SingleFlight`], for each key. A key without a read is removed.
#[derive(Debug)]
pub(super) struct SingleFlightBy<K, T> {
    keys: Arc<Mutex<HashMap<K, Weak<Reads<T>>>>>,
    turns: Arc<Semaphore>,
}

impl<K, T> Clone for SingleFlightBy<K, T> {
    fn clone(&self) -> Self {
        Self {
            keys: Arc::clone(&self.keys),
            turns: Arc::clone(&self.turns),
        }
    }
}

impl<K: Eq + Hash, T: Clone + Send + Sync + 'static> SingleFlightBy<K, T> {
    /// Each read takes one permit of `turns`.
    pub fn new(turns: Arc<Semaphore>) -> Self {
        Self {
            keys: Arc::default(),
            turns,
        }
    }

    /// The result of a read of `key` that started after this call.
    pub async fn or(&self, key: K, read: impl Future<Output = T> + Send + 'static) -> T {
        let shared = self.of(key);
        let read = shared.or(async { Ok::<T, Infallible>(read.await) });
        match read.await {
            Ok(value) => value,
        }
    }

    fn of(&self, key: K) -> SingleFlight<T> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reads) = keys.get(&key).and_then(Weak::upgrade) {
            return SingleFlight(reads);
        }
        keys.retain(|_, reads| reads.strong_count() > 0);
        let shared = SingleFlight::new(Arc::clone(&self.turns));
        keys.insert(key, Arc::downgrade(&shared.0));
        shared
    }
}

#[cfg(test)]
mod tests;
