//! The limit of open connections. A connection is idle while it has no complete request. At the limit a new connection
//! closes an idle one: the connection that has been idle the longest, of the client address with the most idle
//! connections. So a client that opens many connections and sends nothing, or very slowly, cannot lock out other clients. The API server reuses its most recently used connection first, so it needs
//! the connection that has been idle the longest least.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// The most connections, and those that are open.
#[derive(Debug)]
pub struct ConnectionLimit {
    limit: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// The number of connections with a complete request.
    busy: usize,
    /// Idle connections, in the order in which they became idle.
    idle: BTreeMap<u64, Idle>,
    /// The number of idle connections of each client address.
    idle_by_client: HashMap<IpAddr, usize>,
    next: u64,
}

/// A connection without a complete request.
#[derive(Debug)]
struct Idle {
    client: IpAddr,
    /// Closes the connection when cancelled.
    evicted: CancellationToken,
}

/// The slot of one connection. It becomes free when this is dropped.
#[derive(Debug)]
pub struct Slot {
    limit: Arc<ConnectionLimit>,
    client: IpAddr,
    /// The key of the connection among the idle ones. None while it has a complete request.
    idle: Mutex<Option<u64>>,
    evicted: CancellationToken,
}

impl ConnectionLimit {
    /// A limit of this number of connections.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            open: Mutex::default(),
        }
    }

    /// Takes a slot for a new, idle connection of this client address. None: all open connections have a complete request.
    pub fn take(self: &Arc<Self>, client: IpAddr) -> Option<Slot> {
        let evicted = CancellationToken::new();
        let place = self.with(|open| {
            if open.busy + open.idle.len() >= self.limit {
                open.evict_one()?;
            }
            Some(open.add_idle(client, evicted.clone()))
        })?;
        Some(Slot {
            limit: Arc::clone(self),
            client,
            idle: Mutex::new(Some(place)),
            evicted,
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut Open) -> T) -> T {
        change(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Open {
    fn add_idle(&mut self, client: IpAddr, evicted: CancellationToken) -> u64 {
        let place = self.next;
        self.next += 1;
        self.idle.insert(place, Idle { client, evicted });
        *self.idle_by_client.entry(client).or_default() += 1;
        place
    }

    /// Removes a connection from the idle ones. None: it is not idle.
    fn remove_idle(&mut self, place: u64) -> Option<Idle> {
        let idle = self.idle.remove(&place)?;
        if let Some(count) = self.idle_by_client.get_mut(&idle.client) {
            *count -= 1;
            if *count == 0 {
                self.idle_by_client.remove(&idle.client);
            }
        }
        Some(idle)
    }

    /// Closes the connection that has been idle the longest, of the client address with the most idle connections.
    /// None: no connection is idle.
    fn evict_one(&mut self) -> Option<()> {
        let largest = self.idle_by_client.values().max()?;
        let mut idle = self.idle.iter();
        let (&place, _) =
            idle.find(|(_, idle)| self.idle_by_client.get(&idle.client) == Some(largest))?;
        self.remove_idle(place)?.evicted.cancel();
        Some(())
    }
}

impl Slot {
    /// A token that is cancelled when another connection takes the slot.
    #[must_use]
    pub fn evicted(&self) -> CancellationToken {
        self.evicted.clone()
    }

    /// Marks the start of a request. The slot cannot be taken until [`Self::become_idle`].
    pub fn become_busy(&self) {
        let mut idle = self.idle();
        self.limit.with(|open| {
            if let Some(place) = idle.take() {
                open.remove_idle(place);
                open.busy += 1;
            }
        });
    }

    /// Marks the end of the request.
    pub fn become_idle(&self) {
        let mut idle = self.idle();
        self.limit.with(|open| {
            if idle.is_none() {
                open.busy -= 1;
                *idle = Some(open.add_idle(self.client, self.evicted.clone()));
            }
        });
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let idle = *self.idle();
        self.limit.with(|open| match idle {
            Some(place) => {
                open.remove_idle(place);
            }
            None => open.busy -= 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use super::ConnectionLimit;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

    #[test]
    fn idle_connections_of_one_client_take_no_slot_of_another() {
        let limit = Arc::new(ConnectionLimit::new(3));
        let other = limit.take(HERE).unwrap();
        let mut many = Vec::new();
        for _ in 0..10 {
            many.push(limit.take(ELSEWHERE).unwrap());
        }
        assert!(!other.evicted().is_cancelled());
        let _next = limit.take(HERE).unwrap();
        assert!(!other.evicted().is_cancelled());
        let here = many.iter().filter(|slot| !slot.evicted().is_cancelled());
        assert_eq!(here.count(), 1);
    }

    #[test]
    fn the_connection_that_is_idle_the_longest_is_closed() {
        let limit = Arc::new(ConnectionLimit::new(2));
        let first = limit.take(HERE).unwrap();
        let second = limit.take(HERE).unwrap();
        first.become_busy();
        first.become_idle();
        let _third = limit.take(HERE).unwrap();
        assert!(second.evicted().is_cancelled());
        assert!(!first.evicted().is_cancelled());
    }

    #[test]
    fn a_connection_with_a_request_is_not_closed() {
        let limit = Arc::new(ConnectionLimit::new(2));
        let (first, second) = (limit.take(HERE).unwrap(), limit.take(HERE).unwrap());
        first.become_busy();
        second.become_busy();
        assert!(limit.take(HERE).is_none());
        second.become_idle();
        assert!(limit.take(HERE).is_some());
        assert!(second.evicted().is_cancelled() && !first.evicted().is_cancelled());
    }

    #[test]
    fn a_slot_is_free_again_however_its_connection_ended() {
        let limit = Arc::new(ConnectionLimit::new(1));
        for busy in [true, false, true] {
            let slot = limit.take(HERE).unwrap();
            if busy {
                slot.become_busy();
                slot.become_busy();
            }
        }
        let evicted = limit.take(HERE).unwrap();
        let last = limit.take(HERE).unwrap();
        // Requests on a connection that has lost its slot are not counted.
        evicted.become_busy();
        drop(evicted);
        assert!(!last.evicted().is_cancelled());
        assert_eq!(limit.with(|open| (open.busy, open.idle.len())), (0, 1));
        drop(last);
        assert!(limit.with(|open| open.idle_by_client.is_empty()));
    }
}
