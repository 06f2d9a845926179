//! Every executed mutation, in the order of execution.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::Serialize;

use crate::state::Ec2;
use crate::state::error::Ec2Error;
use crate::state::request::{Change, Changed, Wanted};
use crate::wire::Action;

/// One execution, refused or not. Calls that were never executed (throttled, malformed, dry run, dropped
/// before) are in the counters only.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// 1, 2, 3 and so on in the order of execution.
    pub sequence: u64,
    /// Milliseconds since the emulator started, on the monotonic clock.
    pub at_ms: u64,
    /// Milliseconds since 1970.
    pub unix_ms: u64,
    /// The action.
    pub action: Action,
    /// The interface that the call names, or that it created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_interface_id: Option<String>,
    /// The instances that the call names, or that it created.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instance_ids: Vec<String>,
    /// The addresses that the call names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Ipv4Addr>,
    /// `AllowReassignment`, of an Assign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_reassignment: Option<bool>,
    /// For each address of an Assign: the other interface that had it at the execution, whether or not it lost it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub found_on: BTreeMap<Ipv4Addr, String>,
    /// The attachment that the call names, or that it created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attachment_id: Option<String>,
    /// `Success`, or the error code.
    pub result: String,
    /// The message of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether this is the second execution of a call that a fault had executed twice.
    pub repeated: bool,
}

/// The time of an execution.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Milliseconds since the emulator started.
    pub at_ms: u64,
    /// Milliseconds since 1970.
    pub unix_ms: u64,
}

/// All entries.
#[derive(Debug, Clone, Default)]
pub struct History(Vec<Entry>);

impl History {
    /// The entries with a sequence number above `since`.
    #[must_use]
    pub fn since(&self, since: u64) -> &[Entry] {
        let skipped = usize::try_from(since).unwrap_or(usize::MAX);
        self.0.get(skipped..).unwrap_or_default()
    }

    /// Creates an entry with what is known before the execution. `ec2` is the state before it.
    #[must_use]
    pub fn begin(
        ec2: &Ec2,
        action: Action,
        change: &Change,
        moment: Moment,
        repeated: bool,
    ) -> Entry {
        let mut entry = Entry {
            sequence: 0,
            at_ms: moment.at_ms,
            unix_ms: moment.unix_ms,
            action,
            network_interface_id: None,
            instance_ids: Vec::new(),
            addresses: Vec::new(),
            allow_reassignment: None,
            found_on: BTreeMap::new(),
            attachment_id: None,
            result: String::new(),
            message: None,
            repeated,
        };
        entry.describe(ec2, change);
        entry
    }

    /// Adds the outcome, and stores the entry.
    pub fn end(&mut self, mut entry: Entry, result: &Result<Changed, Ec2Error>) {
        match result {
            Ok(changed) => {
                super::counters::outcome::SUCCESS.clone_into(&mut entry.result);
                entry.complete(changed);
            }
            Err(error) => {
                entry.result = error.code.to_string();
                entry.message = Some(error.message.clone());
            }
        }
        entry.sequence = u64::try_from(self.0.len())
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        self.0.push(entry);
    }
}

impl Entry {
    fn describe(&mut self, ec2: &Ec2, change: &Change) {
        match change {
            Change::AssignPrivateIpAddresses {
                interface,
                wanted,
                allow_reassignment,
            } => {
                self.network_interface_id = Some(interface.to_string());
                self.allow_reassignment = Some(*allow_reassignment);
                if let Wanted::Addresses(addresses) = wanted {
                    self.addresses = addresses.iter().copied().collect();
                }
                let Ok(target) = ec2.interface(*interface) else {
                    return;
                };
                self.found_on = self
                    .addresses
                    .iter()
                    .filter_map(|address| {
                        let holder = ec2.holder(target.subnet, *address)?;
                        (holder.id != *interface).then(|| (*address, holder.id.to_string()))
                    })
                    .collect();
            }
            Change::UnassignPrivateIpAddresses {
                interface,
                addresses,
            } => {
                self.network_interface_id = Some(interface.to_string());
                self.addresses = addresses.iter().copied().collect();
            }
            Change::AttachNetworkInterface {
                interface,
                instance,
                ..
            } => {
                self.network_interface_id = Some(interface.to_string());
                self.instance_ids = vec![instance.to_string()];
            }
            Change::DetachNetworkInterface { attachment } => {
                self.attachment_id = Some(attachment.to_string());
            }
            Change::UnassignPrefixes { interface, .. }
            | Change::DeleteNetworkInterface { interface } => {
                self.network_interface_id = Some(interface.to_string());
            }
            Change::StartInstances(ids)
            | Change::StopInstances(ids)
            | Change::TerminateInstances(ids) => {
                self.instance_ids = ids.iter().map(ToString::to_string).collect();
            }
            Change::RunInstances { address, .. }
            | Change::CreateNetworkInterface { address, .. } => {
                self.addresses = address.iter().copied().collect();
            }
            Change::CreateVpc { .. } | Change::CreateSubnet { .. } | Change::CreateTags { .. } => {}
        }
    }

    fn complete(&mut self, changed: &Changed) {
        match changed {
            Changed::NetworkInterface(interface) => {
                self.network_interface_id = Some(interface.id.to_string());
                self.addresses = vec![interface.primary];
            }
            Changed::Instances(instances) => {
                self.instance_ids = instances.iter().map(|one| one.id.to_string()).collect();
            }
            Changed::Attached(attachment) => self.attachment_id = Some(attachment.to_string()),
            Changed::Assigned { addresses, .. } => {
                self.addresses = addresses.iter().copied().collect();
            }
            Changed::Vpc(_)
            | Changed::Subnet(_)
            | Changed::AssignedPrefixes { .. }
            | Changed::States(_)
            | Changed::Done => {}
        }
    }
}
