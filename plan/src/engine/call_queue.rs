//! The calls to EC2 that are decided and wait to be sent. Those of one action to one interface go in one request.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use crate::address::Address;
use crate::names::{BlockName, IpName};
use crate::step::{Call, CallGroup};
use crate::time::Instant;

/// The most addresses in one request: no interface has more (EC2 API reference, "IP addresses per network interface").
const MOST: usize = 50;
/// The longest time between two requests of one group: each token that is missing from the bucket adds [`A_TOKEN`].
/// A single call never waits, and calls that come one after another use few tokens.
const LONGEST_SPACING: Duration = Duration::from_secs(2);
/// See [`LONGEST_SPACING`].
const A_TOKEN: Duration = Duration::from_millis(125);
/// How long a call waits for calls of its group that other IPs are about to need.
const FOR_OTHERS: Duration = Duration::from_secs(1);
/// What is known of a group's last request is forgotten after this long.
const FORGET_AFTER: Duration = Duration::from_secs(10);

/// Decided calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallQueue {
    waiting: BTreeMap<CallGroup, BTreeMap<IpName, Waiting>>,
    group_of: BTreeMap<IpName, CallGroup>,
    last: BTreeMap<CallGroup, LastRequest>,
    /// IPs whose addresses a refusal of several named.
    named: BTreeSet<IpName>,
    /// When a request of each block was last begun, counted in requests: blocks take turns.
    served: BTreeMap<BlockName, u64>,
    requests: u64,
    /// When something may be sent that may not be now.
    next: Option<Instant>,
}

/// A call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Waiting {
    since: Instant,
    address: Address,
}

/// The last request of a group, or its refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct LastRequest {
    at: Instant,
    /// The most addresses in the next one: less after EC2 has refused several together.
    most: usize,
}

impl CallQueue {
    /// This call of an IP waits from now on, or still.
    pub(super) fn push(&mut self, ip: &IpName, call: &Call, now: Instant) {
        let (group, address) = (call.group(), call.address());
        let known = self.waiting.get(&group).and_then(|waiting| waiting.get(ip));
        if known.is_some_and(|known| known.address == address) {
            return;
        }
        self.remove(ip);
        let waiting = Waiting {
            since: now,
            address,
        };
        self.group_of.insert(ip.clone(), group.clone());
        self.waiting
            .entry(group)
            .or_default()
            .insert(ip.clone(), waiting);
    }

    /// No call of this IP waits any more.
    pub(super) fn remove(&mut self, ip: &IpName) {
        let Some(group) = self.group_of.remove(ip) else {
            return;
        };
        if let Some(waiting) = self.waiting.get_mut(&group) {
            waiting.remove(ip);
            if waiting.is_empty() {
                self.waiting.remove(&group);
            }
        }
    }

    /// As [`Self::remove`], and the IP is gone.
    pub(super) fn forget(&mut self, ip: &IpName) {
        self.remove(ip);
        self.named.remove(ip);
    }

    /// The groups that calls wait for.
    pub(super) fn groups(&self) -> Vec<CallGroup> {
        self.waiting.keys().cloned().collect()
    }

    /// The IPs whose calls of this group go next, those that have waited longest first.
    pub(super) fn members(&self, group: &CallGroup) -> Vec<(IpName, Address)> {
        let waiting = self.waiting.get(group).into_iter().flatten();
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_by_key(|(_, waiting)| waiting.since);
        if let Some((ip, alone)) = waiting.iter().find(|(ip, _)| self.named.contains(*ip)) {
            return Vec::from([((*ip).clone(), alone.address)]);
        }
        let most = self.last.get(group).map_or(MOST, |last| last.most);
        let mut addresses = BTreeSet::new();
        waiting
            .into_iter()
            .filter(|(_, waiting)| addresses.insert(waiting.address))
            .take(most)
            .map(|(ip, waiting)| (ip.clone(), waiting.address))
            .collect()
    }

    /// Since when the first call of a group waits.
    pub(super) fn since(&self, group: &CallGroup) -> Option<Instant> {
        let waiting = self.waiting.get(group)?.values();
        waiting.map(|waiting| waiting.since).min()
    }

    /// When the next request of a group may be sent. `used` tokens are missing; `others_come` says whether other IPs
    /// are about to need a call of this group.
    pub(super) fn due(&self, group: &CallGroup, used: u64, others_come: bool) -> Instant {
        let used = u32::try_from(used).unwrap_or(u32::MAX);
        let spacing = LONGEST_SPACING.min(A_TOKEN.saturating_mul(used));
        let spaced = self.last.get(group).map(|last| last.at.plus(spacing));
        let since = self.since(group).filter(|_| others_come);
        let held = since.map(|since| since.plus(FOR_OTHERS));
        spaced.max(held).unwrap_or(Instant::START)
    }

    /// The turn of a block: the one with the lowest is next.
    pub(super) fn turn(&self, block: Option<&BlockName>) -> u64 {
        let served = block.and_then(|block| self.served.get(block));
        served.copied().unwrap_or(0)
    }

    /// A request of a group is begun.
    pub(super) fn begun(&mut self, group: &CallGroup, block: Option<BlockName>, now: Instant) {
        let last = LastRequest {
            at: now,
            most: self.last.get(group).map_or(MOST, |last| last.most),
        };
        self.last.insert(group.clone(), last);
        self.requests += 1;
        if let Some(block) = block {
            self.served.insert(block, self.requests);
        }
    }

    /// A request was carried out.
    pub(super) fn succeeded(&mut self, group: &CallGroup) {
        if let Some(last) = self.last.get_mut(group) {
            last.most = MOST.min(last.most.saturating_mul(2));
        }
    }

    /// EC2 refused several addresses together. Those that its sentence names go one by one, else fewer go together:
    /// in the end each refusal is of one address.
    pub(super) fn refused(
        &mut self,
        group: &CallGroup,
        ips: &[(IpName, Address)],
        sentence: &str,
        now: Instant,
    ) {
        let named = addresses_in(sentence);
        let named = ips.iter().filter(|(_, address)| named.contains(address));
        let named: Vec<&IpName> = named.map(|(ip, _)| ip).collect();
        if !named.is_empty() && named.len() < ips.len() {
            self.named.extend(named.into_iter().cloned());
        } else {
            let most = (ips.len() / 2).max(1);
            self.last
                .insert(group.clone(), LastRequest { at: now, most });
        }
    }

    /// Drops what is known of requests that are long over, and of blocks that are gone.
    pub(super) fn forget_old(&mut self, now: Instant, is_known: impl Fn(&BlockName) -> bool) {
        self.last
            .retain(|_, last| now.since(last.at) < FORGET_AFTER);
        self.served.retain(|block, _| is_known(block));
    }

    /// Drops everything that depends on time: what waits, and turns. What a refusal has taught stays.
    #[cfg(feature = "timestamps")]
    pub(super) fn forget_moments(&mut self) {
        self.last.retain(|_, last| last.most < MOST);
        for last in self.last.values_mut() {
            last.at = Instant::START;
        }
        *self = Self {
            last: core::mem::take(&mut self.last),
            named: core::mem::take(&mut self.named),
            ..Self::default()
        };
    }

    /// When to look again.
    pub(super) const fn next(&self) -> Option<Instant> {
        self.next
    }

    pub(super) const fn set_next(&mut self, next: Option<Instant>) {
        self.next = next;
    }
}

/// The addresses that stand in a sentence of EC2.
fn addresses_in(sentence: &str) -> BTreeSet<Address> {
    let words = sentence.split(|char: char| !char.is_ascii_digit() && char != '.');
    words
        .filter_map(|word| word.trim_matches('.').parse().ok())
        .collect()
}

#[cfg(test)]
mod tests;
