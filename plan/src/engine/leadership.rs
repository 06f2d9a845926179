//! Begin and end of leadership.
//! Rules: R6.9, R6.12.

use super::silence::Silence;
use super::{Completion, Effect, Engine, Pacing, Report};
use crate::time::Instant;

impl Engine {
    /// True if this process leads and every kind was listed. Otherwise nothing is decided.
    #[must_use]
    pub const fn leading(&self) -> bool {
        self.leading
    }

    /// Handles the start and the end of leadership.
    pub(super) fn follow_leadership(&mut self, now: Instant) {
        // Every kind must be listed first: IPs that are listed later would not be read (quorum) before decisions use
        // them.
        let leading = self.leadership.holds(now) && self.facts.synced();
        if leading == self.leading {
            return;
        }
        self.leading = leading;
        self.report(Report::Leading(leading));
        if leading {
            self.silence = Silence::default();
            self.facts.lead_begins(now);
            // Another leader can have recorded or moved what this process saw begin.
            self.claims.clear();
            self.list_ips(now);
            self.queue.extend(self.facts.ip_names());
            self.queue.extend(self.facts.names_without_ip());
            self.mark_affected(None);
        } else {
            self.failovers.clear();
            self.blocks.stop_counting();
            self.inventories.stop_showing();
        }
    }

    /// Every IP is read before anything is decided from it: in one list of all IPs if there are several.
    fn list_ips(&mut self, now: Instant) {
        let several = self.facts.ip_names().nth(1).is_some();
        if self.pacing == Pacing::On && several && self.listing.is_none() {
            self.listing = Some(now);
            self.outbox.push_back(Effect::ListIps);
        }
    }

    /// Handles the list. IPs that are not in it, or all IPs if it failed, are read one by one.
    pub(super) fn ips_listed(&mut self, completion: Completion, now: Instant) {
        let Some(begun) = self.listing.take() else {
            return;
        };
        self.apply_all(completion, begun, now);
        // A list that began before this process led (again) is not used.
        if self.leading && !self.facts.led_since(begun) {
            self.list_ips(now);
        }
    }
}
