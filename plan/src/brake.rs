//! The brake: when too many pods vanish at once, it is more likely that the API server lost its
//! memory than that all of them went, and no address is released for it.
//! Rules: R7.2 to R7.4.

use crate::facts::Facts;
use crate::names::BlockName;

/// This many releases inferred from absence are let pass in any block.
const ALWAYS_ALLOWED: usize = 2;

impl Facts {
    /// Is no address of this block to be released because its holder is absent?
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

    /// Was the API server restored from a backup, and has no person looked at this block since?
    pub(crate) fn restored(&self, block: &BlockName) -> bool {
        let looked_at = self.rolled_back.as_ref();
        looked_at.is_some_and(|looked_at| !looked_at.contains(block))
    }

    /// How many releases of this block wait, inferred from absence.
    #[must_use]
    pub fn brake_pending(&self, block: &BlockName) -> usize {
        self.missing_holders_in.count(block)
    }
}
