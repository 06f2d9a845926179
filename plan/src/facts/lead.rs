//! A process that begins to lead keeps what its watches have shown, and drops everything else, as after a restart:
//! inventories, own writes, reads and the memory of claims are from a time before, and can be outdated.
//! Rules: R1.14, R5.32, R6.8, R6.10, R6.11.

use alloc::vec::Vec;

use super::{CallError, Fact, Facts, Memory, WriteOutcome};
use crate::ec2::DESCRIBE_LAG;
use crate::outcome::Outcome;
use crate::time::Instant;

impl Facts {
    /// This process begins to lead. The last writes of the former leader can be newer than the watches show, so every
    /// IP is read before a decision. An Assign of the former leader can still be executed.
    pub fn lead_begins(&mut self, now: Instant) {
        let before = core::mem::replace(self, Self::new(self.settings));
        *self = Self {
            synced: before.synced,
            rolled_back: before.rolled_back,
            ips: before.ips,
            unreadable: before.unreadable,
            claims_begun: before.claims_begun,
            blocks: before.blocks,
            pods: before.pods,
            pods_of: before.pods_of,
            index: before.index,
            nodes: before.nodes,
            node_reports: before.node_reports,
            reservations: before.reservations.end_all(),
            seen_terminating: before.seen_terminating,
            missed: before.missed,
            lost_nodes: before.lost_nodes,
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
        for name in self.unreadable.keys() {
            self.memory.get_or_default(name.clone());
        }
        for name in names {
            self.request_proof(&name);
        }
        self.see_denials_of_objects(now);
    }

    /// True if this process led at that time and has led since.
    #[must_use]
    pub fn led_since(&self, begun: Instant) -> bool {
        begun >= self.led_since
    }

    /// Only inventories that began after this time contradict what the former leader did. This process knows none of its
    /// calls, and Describe can be late.
    pub(crate) fn provable_after(&self) -> Instant {
        self.led_since.plus(DESCRIBE_LAG)
    }

    /// Changes an answer to a request that was begun before this process began to lead. Another leader can have
    /// reverted a write or a call, so their outcome becomes unknown. None: the fact is dropped.
    pub(super) fn newer_than_lead(&self, fact: Fact, begun: Instant) -> Option<Fact> {
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
                let text = "it was answered after another replica had led";
                let error = CallError::new(Outcome::Unknown, text);
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
