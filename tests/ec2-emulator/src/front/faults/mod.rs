//! Faults that a test sets, and the calls that they hold.

mod held;
mod order;

use std::collections::VecDeque;

use serde::Serialize;

use crate::wire::{Action, Form};

pub use held::{Held, HeldCall, Release, ReleaseOrder};
pub use order::{Effect, Fault, FaultOrder, InvalidFault, When};

/// A fault that waits for matching calls.
#[derive(Debug, Clone, Serialize)]
pub struct Pending {
    /// Its number.
    pub id: u64,
    /// The matching calls, and the effect.
    #[serde(flatten)]
    pub fault: Fault,
}

/// A fault that applies to a call.
#[derive(Debug, Clone)]
pub struct Struck {
    /// The number of the fault.
    pub id: u64,
    /// The effect on the call.
    pub effect: Effect,
}

/// All faults, and all calls that are held.
#[derive(Debug, Default)]
pub struct Faults {
    pending: VecDeque<Pending>,
    /// The calls that are held.
    pub held: Held,
    numbered: u64,
}

impl Faults {
    /// Adds a fault and returns its number. Only the oldest fault that matches a call applies to it.
    pub fn add(&mut self, fault: Fault) -> u64 {
        self.numbered += 1;
        self.pending.push_back(Pending {
            id: self.numbered,
            fault,
        });
        self.numbered
    }

    /// The fault that applies to this call, if any. Its remaining number of calls is reduced by one.
    pub fn strike(&mut self, action: Action, form: &Form) -> Option<Struck> {
        let mut struck = None;
        for pending in &mut self.pending {
            if !pending.fault.matches(action, form) {
                continue;
            }
            if let Some(skip) = pending.fault.skip.checked_sub(1) {
                pending.fault.skip = skip;
                continue;
            }
            if let Some(times) = &mut pending.fault.times {
                *times = times.saturating_sub(1);
            }
            struck = Some(Struck {
                id: pending.id,
                effect: pending.fault.effect.clone(),
            });
            break;
        }
        self.pending
            .retain(|pending| pending.fault.times != Some(0));
        struck
    }

    /// The faults that still wait for calls.
    #[must_use]
    pub const fn pending(&self) -> &VecDeque<Pending> {
        &self.pending
    }

    /// Removes a fault, or all. Held calls stay held. Returns the numbers of the removed faults.
    pub fn clear(&mut self, id: Option<u64>) -> Vec<u64> {
        let chosen = |pending: &Pending| id.is_none_or(|id| pending.id == id);
        let cleared = self
            .pending
            .iter()
            .filter(|one| chosen(one))
            .map(|one| one.id);
        let cleared = cleared.collect();
        self.pending.retain(|pending| !chosen(pending));
        cleared
    }
}
