//! How many connections there may be. Who comes when all seats are taken gets that of the one that has asked
//! for nothing the longest: a crowd that only sits there takes nothing from those who ask.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// All seats.
#[derive(Debug)]
pub(super) struct Seats {
    limit: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    /// Connections on which a request is being answered.
    busy: usize,
    /// The others, in the order in which they came to rest, and what ends each.
    resting: BTreeMap<u64, CancellationToken>,
    next: u64,
}

/// One connection's. It is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    /// Its place among those at rest; None while a request is being answered.
    resting: Mutex<Option<u64>>,
    evicted: CancellationToken,
}

impl Seats {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            taken: Mutex::default(),
        }
    }

    /// A seat, at rest. None: all are taken, and a request is open on every one.
    pub fn take(self: &Arc<Self>) -> Option<Seat> {
        let evicted = CancellationToken::new();
        let place = self.with(|taken| {
            if taken.busy + taken.resting.len() >= self.limit {
                let (_, longest) = taken.resting.pop_first()?;
                longest.cancel();
            }
            Some(taken.rest(evicted.clone()))
        })?;
        Some(Seat {
            seats: Arc::clone(self),
            resting: Mutex::new(Some(place)),
            evicted,
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut Taken) -> T) -> T {
        change(&mut self.taken.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Taken {
    fn rest(&mut self, evicted: CancellationToken) -> u64 {
        let place = self.next;
        self.next += 1;
        self.resting.insert(place, evicted);
        place
    }
}

impl Seat {
    /// Ends when somebody else got the seat.
    pub fn evicted(&self) -> CancellationToken {
        self.evicted.clone()
    }

    /// A request is being answered: nobody else gets the seat meanwhile.
    pub fn busy(&self) {
        let mut resting = self.resting();
        self.seats.with(|taken| {
            if let Some(place) = resting.take() {
                taken.resting.remove(&place);
                taken.busy += 1;
            }
        });
    }

    /// It was answered.
    pub fn rest(&self) {
        let mut resting = self.resting();
        self.seats.with(|taken| {
            if resting.is_none() {
                taken.busy -= 1;
                *resting = Some(taken.rest(self.evicted.clone()));
            }
        });
    }

    fn resting(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let resting = *self.resting();
        self.seats.with(|taken| match resting {
            Some(place) => {
                taken.resting.remove(&place);
            }
            None => taken.busy -= 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Seats;

    #[test]
    fn who_has_rested_longest_makes_room() {
        let seats = Arc::new(Seats::new(2));
        let first = seats.take().unwrap();
        let second = seats.take().unwrap();
        first.busy();
        first.rest();
        let _third = seats.take().unwrap();
        assert!(second.evicted().is_cancelled());
        assert!(!first.evicted().is_cancelled());
    }

    #[test]
    fn nobody_is_evicted_in_the_middle_of_a_request() {
        let seats = Arc::new(Seats::new(2));
        let (first, second) = (seats.take().unwrap(), seats.take().unwrap());
        first.busy();
        second.busy();
        assert!(seats.take().is_none());
        second.rest();
        assert!(seats.take().is_some());
        assert!(second.evicted().is_cancelled() && !first.evicted().is_cancelled());
    }

    #[test]
    fn a_seat_is_free_again_when_its_connection_ends_however_that_was() {
        let seats = Arc::new(Seats::new(1));
        for busy in [true, false, true] {
            let seat = seats.take().unwrap();
            if busy {
                seat.busy();
                seat.busy();
            }
        }
        let evicted = seats.take().unwrap();
        let last = seats.take().unwrap();
        // What it does before it notices counts for nothing.
        evicted.busy();
        drop(evicted);
        assert!(!last.evicted().is_cancelled());
        assert_eq!(
            seats.with(|taken| (taken.busy, taken.resting.len())),
            (0, 1)
        );
    }
}
