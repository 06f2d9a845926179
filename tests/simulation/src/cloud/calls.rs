//! The calls of EC2, and their executions.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use ec2_emulator::wire::Action;

use crate::log::Moment;

/// A mutating call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The client that sent it.
    pub client: String,
    /// `AssignPrivateIpAddresses` or `UnassignPrivateIpAddresses`.
    pub action: Action,
    /// The interface that it names.
    pub interface: String,
    /// The addresses that it names.
    pub addresses: Vec<Ipv4Addr>,
    /// `AllowReassignment`
    pub reassign: bool,
    /// When it was sent.
    pub sent: Moment,
    /// Each time that it was executed.
    pub executed: Vec<Execution>,
    /// When its sender received the answer; `None` if it received none.
    pub answered: Option<Moment>,
}

impl Call {
    /// Was it executed later than any normal call? Then its process was paused.
    #[must_use]
    pub fn was_paused(&self, execution: &Execution) -> bool {
        execution.moment.at > self.sent.at + Duration::from_secs(10)
    }
}

/// One execution of a call.
#[derive(Clone, Debug)]
pub struct Execution {
    /// When.
    pub moment: Moment,
    /// Did its sender still wait for the answer?
    pub awaited: bool,
    /// The other interfaces that had its addresses.
    pub found_on: BTreeMap<Ipv4Addr, String>,
    /// The execution has moved an address.
    pub effective: bool,
    /// The code of a refusal.
    pub refused: Option<String>,
}
