//! Access to the moments in the engine, apart from its facts, for a model checker. See [`crate::facts::Facts`].

use alloc::vec::Vec;

use super::Engine;
use crate::names::IpName;
use crate::step::{CallGroup, Step};
use crate::time::Instant;

impl Engine {
    /// The facts, for a model checker that changes their moments.
    pub const fn facts_mut(&mut self) -> &mut crate::facts::Facts {
        &mut self.facts
    }

    /// Replaces the start of each step in flight, and keeps only whether this process led at that time. Nothing else
    /// depends on it if each read is answered at once.
    pub fn forget_when_steps_began(&mut self, now: Instant) {
        for flight in self.in_flight.values_mut() {
            let since = flight.begun >= self.facts.led_since;
            flight.begun = if since { now } else { Instant::START };
        }
    }

    /// Calls `change` with the start of each inventory in flight; `change` may modify it.
    pub fn each_inventory_timestamp(&mut self, change: &mut impl FnMut(&mut Instant)) {
        self.inventories.each_timestamp(change);
    }

    /// Begins the next request of a group with the calls that are decided now, without any wait.
    pub fn begin_together(&mut self, group: &CallGroup, now: Instant) {
        let ips: Vec<IpName> = self.facts.ip_names().cloned().collect();
        for ip in ips {
            if let Some(Step::Call(call)) = self.facts.decide(&ip, now).step
                && call.group() == *group
                && !self.is_in_flight(&ip)
            {
                self.calls.push(&ip, &call, now);
            }
        }
        if self.leadership.may_call(now) && self.begin_call(group, None, now).is_ok() {
            self.outbox.clear();
        }
        self.calls.forget_timestamps();
    }

    /// True if a step of this IP is in flight.
    #[must_use]
    pub fn is_in_flight(&self, ip: &IpName) -> bool {
        self.in_flight.contains_key(ip)
    }

    /// Removes the next IP from the queue and returns it, for a caller that reconciles all IPs itself.
    pub fn next_queued(&mut self) -> Option<IpName> {
        self.queue.pop()
    }
}
