//! The release brake: if many pods disappear at once, it is more likely that the API server lost data than that all
//! pods are gone. Then no address is released.
//! Rules: R7.2 to R7.4.

use crate::facts::Facts;
use crate::names::BlockName;
use crate::objects::{Block, Ip};

/// This many releases inferred from absence are always allowed in a block.
const ALWAYS_ALLOWED: usize = 2;

impl Facts {
    /// True if no address of this block may be released because of an absent holder.
    #[must_use]
    pub fn brake_engaged(&self, block: &BlockName) -> bool {
        let released = self
            .blocks
            .get(block)
            .is_some_and(|block| block.release_brake);
        if released {
            return false;
        }
        let pending = self.brake_pending(block);
        let attached = self.index.claimed_in(block);
        pending > 0 && (self.restored(block) || pending > ALWAYS_ALLOWED.max(attached / 5))
    }

    /// True if the API server was restored from a backup and no user has confirmed it for this block since.
    pub(crate) fn restored(&self, block: &BlockName) -> bool {
        let looked_at = self.rolled_back.as_ref();
        looked_at.is_some_and(|looked_at| !looked_at.contains(block))
    }

    /// The IPs of this block whose release was inferred from absence, and is pending.
    pub(crate) fn missing_holders_in(&self, block: &BlockName) -> impl Iterator<Item = &Ip> {
        let names = self.missing_holders_in.of(block);
        names.filter_map(|name| self.ips.get(name))
    }

    /// True if a user has confirmed for this block that its missing pods are gone, and no release waits for that. A
    /// process that has just begun to lead has not looked for the absent holders yet: their releases can follow.
    pub(crate) fn release_brake_is_used(&self, block: &Block, ips: &[&Ip]) -> bool {
        block.release_brake
            && self.brake_pending(&block.name) == 0
            && !self.restored(&block.name)
            && !ips.iter().any(|ip| self.holder_is_absent(ip))
    }

    /// True if neither the watch nor the last read shows the holder, and its end was not seen.
    fn holder_is_absent(&self, ip: &Ip) -> bool {
        ip.status.claim.as_ref().is_some_and(|claim| {
            let read = self.reads.pods.get(&claim.pod);
            let read = read.and_then(|read| read.value.as_ref());
            let found = read.is_some_and(|pod| pod.uid == claim.uid);
            let ended = self.seen_terminating.contains(&claim.uid);
            !found && !ended && !self.pods.contains_key(&claim.uid)
        })
    }

    /// Number of pending releases of this block that were inferred from absence.
    #[must_use]
    pub fn brake_pending(&self, block: &BlockName) -> usize {
        self.missing_holders_in.count(block)
    }
}
