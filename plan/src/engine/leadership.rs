//! What changes when this process begins or ceases to lead.
//! Rules: R6.9, R6.12.

use super::{Completion, Effect, Engine, Pacing, Report};
use crate::time::Instant;

impl Engine {
    /// Does it lead, and has every kind been listed? Nothing is decided else.
    #[must_use]
    pub const fn leading(&self) -> bool {
        self.leading
    }

    /// Notices that leadership begins or ends.
    pub(super) fn follow_leadership(&mut self, now: Instant) {
        // What is listed after it has begun to lead would not be read before it is acted on.
        let leading = self.leadership.holds(now) && self.facts.synced();
        if leading == self.leading {
            return;
        }
        self.leading = leading;
        self.report(Report::Leading(leading));
        if leading {
            self.facts.lead_begins(now);
            self.list_ips(now);
            self.queue.extend(self.facts.ip_names());
            self.touch_block(None);
        } else {
            self.failovers.clear();
            self.blocks.stop_counting();
            self.inventories.stop_showing();
        }
    }

    /// Every IP is read before anything is decided from it: all of them in one list, where that is one answer instead of
    /// many.
    fn list_ips(&mut self, now: Instant) {
        let several = self.facts.ip_names().nth(1).is_some();
        if self.pacing == Pacing::On && several && self.listing.is_none() {
            self.listing = Some(now);
            self.outbox.push_back(Effect::ListIps);
        }
    }

    /// Takes the list. What is not in it, or all if it failed, is read one by one.
    pub(super) fn ips_listed(&mut self, completion: Completion, now: Instant) {
        let Some(begun) = self.listing.take() else {
            return;
        };
        self.apply_all(completion, begun, now);
        // One that was begun before another process led says nothing.
        if self.leading && !self.facts.led_since(begun) {
            self.list_ips(now);
        }
    }
}
