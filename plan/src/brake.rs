//! The release brake: if many pods disappear at once, it is more likely that the API server lost data than that all
//! pods are gone. Then no address is released.
//! Rules: R7.2 to R7.4.

use crate::facts::Facts;
use crate::names::BlockName;
use crate::objects::Ip;

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

    /// Number of pending releases of this block that were inferred from absence.
    #[must_use]
    pub fn brake_pending(&self, block: &BlockName) -> usize {
        self.missing_holders_in.count(block)
    }
}
