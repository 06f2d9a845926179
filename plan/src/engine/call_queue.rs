//! Decided calls to EC2 that wait to be sent. Calls of one action to one ENI go in one request.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use crate::address::Address;
use crate::ec2::ADDRESSES_AT_ONCE;
use crate::names::{BlockName, IpName};
use crate::step::{Call, CallGroup};
use crate::time::Instant;

/// Maximum time between two requests of one group. Each token that is missing, or will be soon, adds [`A_TOKEN`]: a
/// single call never waits, and many calls in sequence use few tokens.
const LONGEST_SPACING: Duration = Duration::from_secs(2);
/// Time between two requests of one group for each missing token. Waiting calls are checked again after it.
pub(super) const A_TOKEN: Duration = Duration::from_millis(125);
/// After the last step of a claim, no more claims are expected when this time has passed.
const BATCH_WAIT: Duration = Duration::from_millis(125);
/// Maximum wait of a call for calls of other IPs that can go in the same request.
const FOR_OTHERS: Duration = Duration::from_secs(1);
/// The last request of a group is forgotten after this time.
const FORGET_AFTER: Duration = Duration::from_secs(10);

/// Decided calls that wait to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallQueue {
    waiting: BTreeMap<CallGroup, BTreeMap<IpName, Waiting>>,
    group_of: BTreeMap<IpName, CallGroup>,
    last: BTreeMap<CallGroup, LastRequest>,
    /// IPs whose addresses EC2 named when it refused several together: their calls go alone.
    named: BTreeSet<IpName>,
    /// The number of the last request of each block, so that blocks take turns.
    served: BTreeMap<BlockName, u64>,
    requests: u64,
    /// When a step of an unfinished claim or detach last ended.
    claim_step_ended: Option<Instant>,
    /// When the next waiting call may be sent.
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
    /// Maximum number of addresses in the next request: smaller after EC2 has refused several together.
    most: usize,
}

impl CallQueue {
    /// Adds a call of an IP. The same call keeps its place; another call of this IP is replaced.
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

    /// Removes the call of this IP.
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

    /// Removes the call of this IP, and that its address was named in a refusal.
    pub(super) fn forget(&mut self, ip: &IpName) {
        self.remove(ip);
        self.named.remove(ip);
    }

    /// The groups with waiting calls.
    pub(super) fn groups(&self) -> Vec<CallGroup> {
        self.waiting.keys().cloned().collect()
    }

    /// The IPs and addresses of the next request of this group; the call that has waited longest is first.
    pub(super) fn members(&self, group: &CallGroup) -> Vec<(IpName, Address)> {
        let waiting = self.waiting.get(group).into_iter().flatten();
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_by_key(|(_, waiting)| waiting.since);
        if let Some((ip, alone)) = waiting.iter().find(|(ip, _)| self.named.contains(*ip)) {
            return Vec::from([((*ip).clone(), alone.address)]);
        }
        let most = self
            .last
            .get(group)
            .map_or(ADDRESSES_AT_ONCE, |last| last.most);
        let mut addresses = BTreeSet::new();
        waiting
            .into_iter()
            .filter(|(_, waiting)| addresses.insert(waiting.address))
            .take(most)
            .map(|(ip, waiting)| (ip.clone(), waiting.address))
            .collect()
    }

    /// Since when the oldest call of a group waits.
    pub(super) fn since(&self, group: &CallGroup) -> Option<Instant> {
        let waiting = self.waiting.get(group)?.values();
        waiting.map(|waiting| waiting.since).min()
    }

    /// When the next request of a group may be sent. `used`: number of tokens that are missing or will be soon;
    /// `others_come`: other IPs can need a call of this group soon.
    pub(super) fn due(&self, group: &CallGroup, used: u64, others_come: bool) -> Instant {
        let used = u32::try_from(used).unwrap_or(u32::MAX);
        let spacing = LONGEST_SPACING.min(A_TOKEN.saturating_mul(used));
        let spaced = self.last.get(group).map(|last| last.at.plus(spacing));
        let since = self.since(group).filter(|_| others_come);
        let held = since.map(|since| since.plus(FOR_OTHERS));
        spaced.max(held).unwrap_or(Instant::START)
    }

    /// Notes that a step of an unfinished claim or detach ended.
    pub(super) const fn note_claim_step(&mut self, now: Instant) {
        self.claim_step_ended = Some(now);
    }

    /// True if a step of an unfinished claim or detach ended at most [`BATCH_WAIT`] ago: more can follow.
    pub(super) fn more_expected(&self, now: Instant) -> bool {
        self.claim_step_ended
            .is_some_and(|at| now.since(at) <= BATCH_WAIT)
    }

    /// The turn of a block: the block with the lowest number is next.
    pub(super) fn turn(&self, block: Option<&BlockName>) -> u64 {
        let served = block.and_then(|block| self.served.get(block));
        served.copied().unwrap_or(0)
    }

    /// Notes that a request of a group was begun.
    pub(super) fn begun(&mut self, group: &CallGroup, block: Option<BlockName>, now: Instant) {
        let last = LastRequest {
            at: now,
            most: self
                .last
                .get(group)
                .map_or(ADDRESSES_AT_ONCE, |last| last.most),
        };
        self.last.insert(group.clone(), last);
        self.requests += 1;
        if let Some(block) = block {
            self.served.insert(block, self.requests);
        }
    }

    /// Notes that a request succeeded: the next one may have twice as many addresses.
    pub(super) fn succeeded(&mut self, group: &CallGroup) {
        if let Some(last) = self.last.get_mut(group) {
            last.most = ADDRESSES_AT_ONCE.min(last.most.saturating_mul(2));
        }
    }

    /// EC2 refused several addresses together. Those that its error names go alone; otherwise the next request has half
    /// as many. So in the end each refusal is about one address.
    pub(super) fn refused(
        &mut self,
        group: &CallGroup,
        ips: &[(IpName, Address)],
        named: &BTreeSet<Address>,
        now: Instant,
    ) {
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

    /// Removes old requests, and blocks that are gone.
    pub(super) fn forget_old(&mut self, now: Instant, is_known: impl Fn(&BlockName) -> bool) {
        self.last
            .retain(|_, last| now.since(last.at) < FORGET_AFTER);
        self.served.retain(|block, _| is_known(block));
    }

    /// Removes everything that depends on time: waiting calls and turns. The limits from refusals stay.
    #[cfg(feature = "timestamps")]
    pub(super) fn forget_timestamps(&mut self) {
        self.last.retain(|_, last| last.most < ADDRESSES_AT_ONCE);
        for last in self.last.values_mut() {
            last.at = Instant::START;
        }
        *self = Self {
            last: core::mem::take(&mut self.last),
            named: core::mem::take(&mut self.named),
            ..Self::default()
        };
    }

    /// When to check again.
    pub(super) const fn next(&self) -> Option<Instant> {
        self.next
    }

    pub(super) const fn set_next(&mut self, next: Option<Instant>) {
        self.next = next;
    }
}

#[cfg(test)]
mod tests;
