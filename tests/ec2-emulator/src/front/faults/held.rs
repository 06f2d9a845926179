//! Calls that wait until they are released.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::wire::{Action, Form};

use super::order::When;

/// The command for a held call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// Continue normally.
    GoOn,
    /// Close the connection; a call that was not executed is never executed.
    Drop,
}

/// A call that is held, as `GET /_emulator/faults` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct HeldCall {
    /// The number that releases it.
    pub hold: u64,
    /// The fault that holds it.
    pub fault: u64,
    /// Whether it has been executed.
    pub when: When,
    /// The action.
    pub action: Action,
    /// The interface that it names.
    pub network_interface_id: Option<String>,
    /// The addresses that it names.
    pub addresses: Vec<String>,
    /// Since when, in milliseconds since the emulator started.
    pub since_ms: u64,
}

impl HeldCall {
    /// The call as it is shown; the number is set when the hold starts.
    #[must_use]
    pub fn new(fault: u64, when: When, action: Action, form: &Form, since_ms: u64) -> Self {
        let addresses = form.list("PrivateIpAddress").unwrap_or_default();
        Self {
            hold: 0,
            fault,
            when,
            action,
            network_interface_id: form.text("NetworkInterfaceId").map(ToOwned::to_owned),
            addresses: addresses.into_iter().map(ToOwned::to_owned).collect(),
            since_ms,
        }
    }
}

/// Body of `POST /_emulator/release`: one of `hold`, `fault`, `all`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseOrder {
    /// This call.
    pub hold: Option<u64>,
    /// All calls that this fault holds.
    pub fault: Option<u64>,
    /// All calls.
    #[serde(default)]
    pub all: bool,
    /// Close the connection instead of continuing. A call that is held before its execution is then never executed.
    #[serde(default)]
    pub drop: bool,
}

impl ReleaseOrder {
    fn chooses(&self, call: &HeldCall) -> bool {
        self.all || self.hold == Some(call.hold) || self.fault == Some(call.fault)
    }
}

/// All calls that are held.
#[derive(Debug, Default)]
pub struct Held {
    calls: BTreeMap<u64, (HeldCall, oneshot::Sender<Release>)>,
    numbered: u64,
}

impl Held {
    /// Starts to hold a call, which waits for the returned receiver.
    pub fn hold(&mut self, mut call: HeldCall) -> oneshot::Receiver<Release> {
        let (sender, receiver) = oneshot::channel();
        self.numbered += 1;
        call.hold = self.numbered;
        self.calls.insert(self.numbered, (call, sender));
        receiver
    }

    /// Releases calls, and returns their numbers.
    pub fn release(&mut self, order: &ReleaseOrder) -> Vec<u64> {
        let release = if order.drop {
            Release::Drop
        } else {
            Release::GoOn
        };
        let chosen = self
            .calls
            .values()
            .filter(|(call, _)| order.chooses(call))
            .map(|(call, _)| call.hold);
        let chosen: Vec<u64> = chosen.collect();
        for hold in &chosen {
            if let Some((_, sender)) = self.calls.remove(hold) {
                // An error means that the receiver no longer waits.
                let _ = sender.send(release);
            }
        }
        chosen
    }

    /// The held calls, in the order of their arrival.
    pub fn calls(&self) -> impl Iterator<Item = &HeldCall> {
        self.calls.values().map(|(call, _)| call)
    }
}
