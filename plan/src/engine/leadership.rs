//! What changes when this process begins or ceases to lead.

use super::{Engine, Report};
use crate::names::Millis;

impl Engine {
    /// Does it lead, and has every kind been listed? Nothing is decided else.
    #[must_use]
    pub const fn leading(&self) -> bool {
        self.leading
    }

    /// Notices that leadership begins or ends.
    pub(super) fn follow_leadership(&mut self, now: Millis) {
        // What is listed after it has begun to lead would not be read before it is acted on.
        let leading = self.leadership.holds(now) && self.facts.synced();
        if leading == self.leading {
            return;
        }
        self.leading = leading;
        self.report(Report::Leading(leading));
        if leading {
            self.facts.lead_begins(now);
            self.queue.extend(self.facts.ip_names());
            self.touch_block(None);
        } else {
            self.blocks.stop_counting();
            self.inventories.stop_showing();
        }
    }
}
