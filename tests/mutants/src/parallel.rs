//! Processes items in parallel.

use std::collections::VecDeque;
use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, and ignores a poisoned lock: each change here is a single insertion or removal.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on each item, in `workers` threads. Items are started in their order. The results are in the order of
/// completion. The first argument of `work` is the number of its thread.
///
/// # Errors
/// The first error of `work`. Work in progress is completed, and no other item is started.
pub(crate) fn each<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    workers: usize,
    work: impl Fn(usize, T) -> Result<R, Box<dyn Error>> + Sync,
) -> Result<Vec<R>, Box<dyn Error>> {
    let waiting = Mutex::new(items.into_iter().collect::<VecDeque<T>>());
    let done = Mutex::new(Ok(Vec::new()));
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (waiting, done, work) = (&waiting, &done, &work);
            scope.spawn(move || {
                let next = || locked(waiting).pop_front();
                while let Some(item) = next() {
                    let result = work(worker, item);
                    let mut done = locked(done);
                    let Ok(results) = &mut *done else { return };
                    match result {
                        Ok(result) => results.push(result),
                        Err(why) => {
                            *done = Err(why.to_string());
                            locked(waiting).clear();
                        }
                    }
                }
            });
        }
    });
    Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner)?)
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn every_item_is_worked_on_once() {
        let mut done = each(0..100, 3, |_, item| Ok(item * 2)).unwrap();
        done.sort_unstable();
        let expected: Vec<u32> = (0..100).map(|item| item * 2).collect();
        assert_eq!(done, expected);
    }

    #[test]
    fn nothing_begins_after_an_error() {
        let begun = std::sync::atomic::AtomicUsize::new(0);
        let result = each(0..100, 1, |_, item| {
            begun.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if item == 3 { Err("no".into()) } else { Ok(()) }
        });
        assert_eq!(result.unwrap_err().to_string(), "no");
        assert_eq!(begun.into_inner(), 4);
    }
}
