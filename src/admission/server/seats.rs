//! How many connections there may be. Who comes when all seats are taken gets one of whichever address has the most
//! that ask for nothing, and of these the one that has done so the longest: a crowd that only sits there takes
//! nothing from those who ask.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// All seats.
#[derive(Debug)]
pub struct Seats {
    limit: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    /// Connections on which a request is being answered.
    busy: usize,
    /// The others, in the order in which they came to rest.
    resting: BTreeMap<u64, Resting>,
    /// How many of those each address has.
    crowds: HashMap<IpAddr, usize>,
    next: u64,
}

/// A connection that asks for nothing.
#[derive(Debug)]
struct Resting {
    client: IpAddr,
    /// What ends it.
    evicted: CancellationToken,
}

/// One connection's. It is free again when this is dropped.
#[derive(Debug)]
pub struct Seat {
    seats: Arc<Seats>,
    client: IpAddr,
    /// Its place among those at rest; None while a request is being answered.
    resting: Mutex<Option<u64>>,
    evicted: CancellationToken,
}

impl Seats {
    /// So many.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            taken: Mutex::default(),
        }
    }

    /// A seat for a client of this address, at rest. None: all are taken, and a request is open on every one.
    pub fn take(self: &Arc<Self>, client: IpAddr) -> Option<Seat> {
        let evicted = CancellationToken::new();
        let place = self.with(|taken| {
            if taken.busy + taken.resting.len() >= self.limit {
                taken.make_room()?;
            }
            Some(taken.rest(client, evicted.clone()))
        })?;
        Some(Seat {
            seats: Arc::clone(self),
            client,
            resting: Mutex::new(Some(place)),
            evicted,
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut Taken) -> T) -> T {
        change(&mut self.taken.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Taken {
    fn rest(&mut self, client: IpAddr, evicted: CancellationToken) -> u64 {
        let place = self.next;
        self.next += 1;
        self.resting.insert(place, Resting { client, evicted });
        *self.crowds.entry(client).or_default() += 1;
        place
    }

    /// It rests no longer, if it did.
    fn wake(&mut self, place: u64) -> Option<Resting> {
        let resting = self.resting.remove(&place)?;
        if let Some(crowd) = self.crowds.get_mut(&resting.client) {
            *crowd -= 1;
            if *crowd == 0 {
                self.crowds.remove(&resting.client);
            }
        }
        Some(resting)
    }

    /// Ends the one that has rested the longest, of the address that has the most. None: nobody rests.
    fn make_room(&mut self) -> Option<()> {
        let largest = self.crowds.values().max()?;
        let mut resting = self.resting.iter();
        let (&place, _) =
            resting.find(|(_, resting)| self.crowds.get(&resting.client) == Some(largest))?;
        self.wake(place)?.evicted.cancel();
        Some(())
    }
}

impl Seat {
    /// Ends when somebody else got the seat.
    #[must_use]
    pub fn evicted(&self) -> CancellationToken {
        self.evicted.clone()
    }

    /// A request is being answered: nobody else gets the seat meanwhile.
    pub fn busy(&self) {
        let mut resting = self.resting();
        self.seats.with(|taken| {
            if let Some(place) = resting.take() {
                taken.wake(place);
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
                *resting = Some(taken.rest(self.client, self.evicted.clone()));
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
                taken.wake(place);
            }
            None => taken.busy -= 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use super::Seats;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

    #[test]
    fn a_crowd_of_one_address_takes_nothing_from_another() {
        let seats = Arc::new(Seats::new(3));
        let honest = seats.take(HERE).unwrap();
        let mut crowd = Vec::new();
        for _ in 0..10 {
            crowd.push(seats.take(ELSEWHERE).unwrap());
        }
        assert!(!honest.evicted().is_cancelled());
        let _next = seats.take(HERE).unwrap();
        assert!(!honest.evicted().is_cancelled());
        let here = crowd.iter().filter(|seat| !seat.evicted().is_cancelled());
        assert_eq!(here.count(), 1);
    }

    #[test]
    fn who_has_rested_longest_makes_room() {
        let seats = Arc::new(Seats::new(2));
        let first = seats.take(HERE).unwrap();
        let second = seats.take(HERE).unwrap();
        first.busy();
        first.rest();
        let _third = seats.take(HERE).unwrap();
        assert!(second.evicted().is_cancelled());
        assert!(!first.evicted().is_cancelled());
    }

    #[test]
    fn nobody_is_evicted_in_the_middle_of_a_request() {
        let seats = Arc::new(Seats::new(2));
        let (first, second) = (seats.take(HERE).unwrap(), seats.take(HERE).unwrap());
        first.busy();
        second.busy();
        assert!(seats.take(HERE).is_none());
        second.rest();
        assert!(seats.take(HERE).is_some());
        assert!(second.evicted().is_cancelled() && !first.evicted().is_cancelled());
    }

    #[test]
    fn a_seat_is_free_again_when_its_connection_ends_however_that_was() {
        let seats = Arc::new(Seats::new(1));
        for busy in [true, false, true] {
            let seat = seats.take(HERE).unwrap();
            if busy {
                seat.busy();
                seat.busy();
            }
        }
        let evicted = seats.take(HERE).unwrap();
        let last = seats.take(HERE).unwrap();
        // What it does before it notices counts for nothing.
        evicted.busy();
        drop(evicted);
        assert!(!last.evicted().is_cancelled());
        assert_eq!(
            seats.with(|taken| (taken.busy, taken.resting.len())),
            (0, 1)
        );
        drop(last);
        assert!(seats.with(|taken| taken.crowds.is_empty()));
    }
}
