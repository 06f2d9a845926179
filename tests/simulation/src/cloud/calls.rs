//! What EC2 was told, and what it did.

use std::net::Ipv4Addr;
use std::time::Duration;

use ec2_emulator::wire::Action;

use crate::log::Moment;

/// A mutating call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Whose.
    pub client: String,
    /// `AssignPrivateIpAddresses` or its contrary.
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
    /// When its answer reached whoever waited for it; none: nobody waited, or none came.
    pub answered: Option<Moment>,
}

impl Call {
    /// Was it on its way for longer than any call is? A process stood still, which is seen and repaired.
    #[must_use]
    pub fn stood_still(&self, execution: &Execution) -> bool {
        execution.moment.at > self.sent.at + Duration::from_secs(10)
    }
}

/// One execution of a call.
#[derive(Clone, Debug)]
pub struct Execution {
    /// When.
    pub moment: Moment,
    /// Did whoever sent it still wait for it?
    pub awaited: bool,
    /// The other interface that had the address.
    pub found_on: Option<String>,
    /// Something is where it was not before.
    pub effective: bool,
    /// EC2's code, of a refusal.
    pub refused: Option<String>,
}
