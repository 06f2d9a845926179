//! Calls of EC2. Refusals are classified as in the real client.

use std::collections::BTreeSet;

use ec2_emulator::state::error::{Code, Ec2Error};
use ec2_emulator::state::request::{Change, Wanted};
use mooring_plan::address::Address;
use mooring_plan::cloud::Reassign;
use mooring_plan::facts::CallError;
use mooring_plan::names::InterfaceId;
use mooring_plan::outcome::{Action, Outcome};
use mooring_plan::step::{Call, CallGroup};

use super::Cloud;

impl Cloud {
    /// Executes a call of a controller.
    pub fn execute(&mut self, call: &Call) -> Result<(), CallError> {
        self.execute_together(&call.group(), &[call.address()])
    }

    /// Executes a request for several addresses.
    pub fn execute_together(
        &mut self,
        group: &CallGroup,
        addresses: &[Address],
    ) -> Result<(), CallError> {
        let action = group.action();
        if self.denied.contains(&action) {
            let text = format!("UnauthorizedOperation: {action} is not permitted");
            return Err(CallError::new(Outcome::Denied, text));
        }
        self.carry_out(group, addresses)
    }

    /// A request of a client that may make it.
    fn carry_out(&mut self, group: &CallGroup, addresses: &[Address]) -> Result<(), CallError> {
        let interface = self.id(group.interface());
        let addresses = addresses.iter().map(|address| address.ipv4()).collect();
        let change = match group {
            CallGroup::Assign(_, reassign) => Change::AssignPrivateIpAddresses {
                interface,
                wanted: Wanted::Addresses(addresses),
                allow_reassignment: *reassign == Reassign::Allow,
            },
            CallGroup::Unassign(_) => Change::UnassignPrivateIpAddresses {
                interface,
                addresses,
            },
        };
        self.ec2
            .change(change)
            .map(|_| ())
            .map_err(|error| CallError {
                outcome: meaning(group.action(), &error),
                text: format!("{}: {}", error.code.as_str(), error.message),
                named: named_in(&error.message),
            })
    }

    /// A manual change: assigns the address to an interface, also if another interface has it, or unassigns it from
    /// all.
    pub fn put_manually(&mut self, address: Address, on: Option<&InterfaceId>) {
        let call = match on {
            Some(on) => Call::Assign {
                interface: on.clone(),
                address,
                reassign: Reassign::Allow,
            },
            None => match self.holder_of(address) {
                Some(on) => Call::Unassign {
                    interface: on,
                    address,
                },
                None => return,
            },
        };
        // EC2 refuses if the interface is full, or if the address is the primary address of an interface.
        let _refused = self.carry_out(&call.group(), &[address]);
    }
}

/// The addresses that a message of the emulator names.
fn named_in(message: &str) -> BTreeSet<Address> {
    message
        .split(|char: char| !char.is_ascii_digit() && char != '.')
        .filter_map(|word| word.trim_matches('.').parse().ok())
        .collect()
}

/// Classifies a refusal of the emulator. (Other tests compare the classification of the controller with the answers of
/// the emulator.)
fn meaning(action: Action, error: &Ec2Error) -> Outcome {
    let contains = |words: &str| error.message.contains(words);
    match (action, error.code) {
        (_, Code::InterfaceNotFound) => Outcome::InterfaceNotFound,
        (Action::Assign, Code::PrivateIpAddressLimitExceeded) => Outcome::NoRoom,
        // The address is in a prefix that is delegated to an interface.
        (Action::Assign, Code::AddressInUse) => Outcome::AssignedElsewhere,
        (Action::Assign, Code::InvalidParameterValue) if contains("move is not allowed") => {
            Outcome::AssignedElsewhere
        }
        (_, Code::InvalidParameterValue) if contains("primary") => Outcome::Primary,
        (Action::Unassign, Code::InvalidParameterValue) if contains("not assigned to") => {
            Outcome::Done
        }
        _ => panic!("no test leads to this: {action}: {error:?}"),
    }
}
