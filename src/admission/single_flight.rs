//! Reads that are shared: callers that want the same value at the same time wait for one read.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, Weak};

use tokio::sync::Mutex;
use tokio::task::JoinError;
use tokio::time::Instant;

/// The last reading, and when it was begun.
type Reading<T> = Mutex<Option<(Instant, T)>>;

/// A value that is read at most once at a time.
#[derive(Debug)]
pub(super) struct SingleFlight<T>(Arc<Reading<T>>);

impl<T> Clone for SingleFlight<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone + Send + 'static> SingleFlight<T> {
    /// A reading that began after this call: `read`, or that of another caller that waits. It goes on when this call is
    /// dropped: if each caller began again, with less time left than the one before, none would get an answer.
    ///
    /// # Errors
    /// The error of `read`.
    pub async fn or<E: Send + 'static>(
        &self,
        read: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        let (shared, asked) = (self.clone(), Instant::now());
        let reading = tokio::spawn(async move {
            let mut last = shared.0.lock().await;
            if let Some((begun, value)) = &*last
                && *begun > asked
            {
                return Ok(value.clone());
            }
            let begun = Instant::now();
            let value = read.await?;
            *last = Some((begun, value.clone()));
            Ok(value)
        });
        match reading.await.map_err(JoinError::try_into_panic) {
            Ok(read) => read,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // The runtime shuts down.
            Err(Err(_)) => std::future::pending().await,
        }
    }
}

/// As [`SingleFlight`], for each key. A key without a reading is removed.
#[derive(Debug)]
pub(super) struct SingleFlightBy<K, T>(Arc<std::sync::Mutex<HashMap<K, Weak<Reading<T>>>>>);

impl<K, T> Clone for SingleFlightBy<K, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, T> Default for SingleFlightBy<K, T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash, T: Clone + Send + 'static> SingleFlightBy<K, T> {
    /// A reading of `key` that was begun after this was asked for.
    pub async fn or(&self, key: K, read: impl Future<Output = T> + Send + 'static) -> T {
        let shared = self.of(key);
        let read = shared.or(async { Ok::<T, Infallible>(read.await) });
        match read.await {
            Ok(value) => value,
        }
    }

    fn of(&self, key: K) -> SingleFlight<T> {
        let mut readings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reading) = readings.get(&key).and_then(Weak::upgrade) {
            return SingleFlight(reading);
        }
        readings.retain(|_, reading| reading.strong_count() > 0);
        let shared = SingleFlight::default();
        readings.insert(key, Arc::downgrade(&shared.0));
        shared
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::{SingleFlight, SingleFlightBy};

    /// A reading that takes 10 ms; which it is.
    fn reading(count: &Arc<AtomicU32>) -> impl Future<Output = Result<u32, ()>> + Send + use<> {
        let count = Arc::clone(count);
        async move {
            let nth = count.fetch_add(1, Ordering::Relaxed) + 1;
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok(nth)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_gets_the_next_reading_and_never_one_that_began_before() {
        let (shared, readings) = (SingleFlight::default(), Arc::default());
        let read = || reading(&readings);
        let late = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let many = (0..10).map(|_| shared.or(read()));
            futures::future::join_all(many).await
        };
        let (first, late) = tokio::join!(shared.or(read()), late);
        assert_eq!((first, late), (Ok(1), vec![Ok(2); 10]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reading_goes_on_for_others_when_its_caller_gives_up() {
        let (shared, readings) = (SingleFlight::default(), Arc::default());
        let read = || reading(&readings);
        let after = async |millis| tokio::time::sleep(Duration::from_millis(millis)).await;
        let short = async {
            after(1).await;
            tokio::time::timeout(Duration::from_millis(14), shared.or(read())).await
        };
        let long = async {
            after(2).await;
            shared.or(read()).await
        };
        let (first, gone, patient) = tokio::join!(shared.or(read()), short, long);
        assert!(gone.is_err(), "{gone:?}");
        assert_eq!((first, patient), (Ok(1), Ok(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_not_shared() {
        let shared = SingleFlight::default();
        assert_eq!(shared.or(async { Err::<u8, _>("away") }).await, Err("away"));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(shared.or(async { Ok::<_, &str>(1) }).await, Ok(1));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(shared.or(async { Ok::<_, &str>(2) }).await, Ok(2));
    }

    #[tokio::test(start_paused = true)]
    async fn only_equal_keys_share_a_reading_and_no_key_is_kept() {
        let (shared, readings) = (SingleFlightBy::default(), Arc::default());
        let read = |_| {
            let read = reading(&readings);
            async { read.await.unwrap_or_default() }
        };
        let late = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let same = (0..10).map(|n| shared.or("a", read(n)));
            futures::future::join_all(same).await
        };
        let (a, b, late) = tokio::join!(shared.or("a", read(0)), shared.or("b", read(0)), late);
        assert_eq!((a, b, late), (1, 2, vec![3; 10]));
        assert_eq!(shared.or("c", read(0)).await, 4);
        assert_eq!(shared.0.lock().unwrap().len(), 1, "only the last");
    }
}
