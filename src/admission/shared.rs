//! What many want to read at the same time, read once for all of them.

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// The last reading, and when it was begun.
#[derive(Debug)]
pub(super) struct Shared<T>(Arc<Mutex<Option<(Instant, T)>>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone> Shared<T> {
    /// A reading that was begun after this was asked for: `read`, or that of somebody else who waits as well.
    ///
    /// # Errors
    /// What `read` says.
    pub async fn or<E>(&self, read: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let asked = Instant::now();
        let mut last = self.0.lock().await;
        if let Some((begun, value)) = &*last
            && *begun > asked
        {
            return Ok(value.clone());
        }
        let begun = Instant::now();
        let value = read.await?;
        *last = Some((begun, value.clone()));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::Shared;

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_served_by_the_next_reading_and_never_by_one_that_was_begun_before() {
        let (shared, readings) = (Shared::default(), Cell::new(0));
        let read = async || {
            let nth = readings.get() + 1;
            readings.set(nth);
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok::<_, ()>(nth)
        };
        let late = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let many = (0..10).map(|_| shared.or(read()));
            futures::future::join_all(many).await
        };
        let (first, late) = tokio::join!(shared.or(read()), late);
        assert_eq!((first, late), (Ok(1), vec![Ok(2); 10]));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_fails_is_nobody_else_s() {
        let shared = Shared::default();
        assert_eq!(shared.or(async { Err::<u8, _>("away") }).await, Err("away"));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(shared.or(async { Ok::<_, &str>(1) }).await, Ok(1));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(shared.or(async { Ok::<_, &str>(2) }).await, Ok(2));
    }
}
