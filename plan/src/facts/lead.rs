//! A process that begins to lead is as one that has just started: what the watches have shown, it keeps;
//! what it learnt of EC2, of claims and by reads was of a time in which it led, or another did.
//! Rules: R6.8, R6.10, R6.11.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::{CallError, Fact, Facts, Memory, WriteOutcome};
use crate::outcome::Outcome;
use crate::time::Instant;

impl Facts {
    /// Another led until now. Its last writes may be newer than what the watches have shown, so every IP is
    /// read before anything is decided from it; and it may have sent an Assign that was not answered.
    pub fn lead_begins(&mut self, now: Instant) {
        let before = core::mem::replace(self, Self::new(self.settings));
        *self = Self {
            synced: before.synced,
            listed: before.listed,
            rolled_back: before.rolled_back,
            ips: before.ips,
            unreadable: before.unreadable,
            pending_by_interface: before.pending_by_interface,
            blocks: before.blocks,
            pods: before.pods,
            pods_of: before.pods_of,
            index: before.index,
            nodes: before.nodes,
            node_reports: before.node_reports,
            reservations: before.reservations.end_all(),
            seen_terminating: before.seen_terminating,
            missed: before.missed,
            led_since: now,
            ..Self::new(self.settings)
        };
        let names: Vec<_> = self.ips.keys().cloned().collect();
        for (name, ip) in self.ips.iter() {
            let mut memory = Memory {
                last_write_at: now,
                stale: true,
                ..Memory::default()
            };
            memory.claim_changed(None, ip, now);
            self.memory.insert(name.clone(), memory);
        }
        for name in names {
            self.want_proof(&name);
        }
    }

    /// Did this process lead at that time, and ever since?
    #[must_use]
    pub fn led_since(&self, begun: Instant) -> bool {
        begun >= self.led_since
    }

    /// What an answer says now, if its request was begun before this process began to lead: what a write or
    /// a call did, others may have undone since. None: nothing at all.
    pub(super) fn since_led(&self, fact: Fact, begun: Instant) -> Option<Fact> {
        if self.led_since(begun) {
            return Some(fact);
        }
        match fact {
            Fact::Wrote {
                ip: name, write, ..
            } => Some(Fact::Wrote {
                ip: name,
                write,
                outcome: WriteOutcome::Unknown,
            }),
            Fact::Called { ip: name, call, .. } => {
                let error = CallError {
                    outcome: Outcome::Unknown,
                    code: "Unknown".to_string(),
                    message: "it was answered after another had led".to_string(),
                };
                Some(Fact::Called {
                    ip: name,
                    call,
                    result: Err(error),
                })
            }
            Fact::InventoryDone(..) | Fact::InventoryFailed(..) => None,
            fact => Some(fact),
        }
    }
}
