//! The records of the emulator: counters, history and state.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The number of calls of each action by outcome: `Success`, the error code, `DroppedBefore`, `DroppedAfter`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Calls(pub BTreeMap<String, BTreeMap<String, u64>>);

impl Calls {
    /// The number of calls of an action, with any outcome.
    pub fn of(&self, action: &str) -> u64 {
        self.0
            .get(action)
            .map(|outcomes| outcomes.values().sum())
            .unwrap_or_default()
    }

    /// The number of Describe calls.
    pub fn describes(&self) -> u64 {
        self.0
            .keys()
            .filter(|action| action.starts_with("Describe"))
            .map(|action| self.of(action))
            .sum()
    }

    /// Calls that may change something.
    pub fn mutations(&self) -> u64 {
        self.0
            .keys()
            .filter(|action| !action.starts_with("Describe"))
            .map(|action| self.of(action))
            .sum()
    }
}

/// One execution of a call that may change something, refused or not.
#[derive(Clone, Debug, Deserialize)]
pub struct Mutation {
    /// 1, 2, 3... in the order of execution.
    pub sequence: u64,
    /// Milliseconds since 1970.
    pub unix_ms: u64,
    /// `AssignPrivateIpAddresses`...
    pub action: String,
    /// The interface that the call names or created.
    #[serde(default)]
    pub network_interface_id: Option<String>,
    /// The instances that the call names or created.
    #[serde(default)]
    pub instance_ids: Vec<String>,
    /// The addresses that the call names.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// For an Assign: `AllowReassignment`.
    #[serde(default)]
    pub allow_reassignment: Option<bool>,
    /// For an Assign: the other interface that had an address at the execution.
    #[serde(default)]
    pub found_on: BTreeMap<String, String>,
    /// `Success`, or the error code.
    pub result: String,
    /// The message of a refusal.
    #[serde(default)]
    pub message: Option<String>,
    /// Whether this is the second execution of a call that a fault caused to be executed twice.
    #[serde(default)]
    pub repeated: bool,
}

impl std::fmt::Display for Mutation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{} {} ms: {}", self.sequence, self.unix_ms, self.action)?;
        for named in self
            .addresses
            .iter()
            .chain(&self.network_interface_id)
            .chain(&self.instance_ids)
        {
            write!(f, " {named}")?;
        }
        if self.allow_reassignment == Some(true) {
            write!(f, " (AllowReassignment)")?;
        }
        for (address, interface) in &self.found_on {
            write!(f, ", {address} being on {interface}")?;
        }
        write!(f, ": {}", self.result)?;
        if let Some(message) = &self.message {
            write!(f, " ({message})")?;
        }
        Ok(())
    }
}

/// The present state of EC2, without lag.
#[derive(Clone, Debug, Deserialize)]
pub struct EmulatorState {
    /// All interfaces.
    pub network_interfaces: Vec<Interface>,
    /// All instances.
    pub instances: Vec<Instance>,
}

/// An interface.
#[derive(Clone, Debug, Deserialize)]
pub struct Interface {
    /// `eni-...`
    pub network_interface_id: String,
    /// `subnet-...`
    pub subnet_id: String,
    /// Its primary address.
    pub primary: String,
    /// Its secondary addresses, which Mooring assigns.
    pub secondary: Vec<String>,
    /// The instance that it is attached to.
    pub instance_id: Option<String>,
    /// `eni-attach-...`
    pub attachment_id: Option<String>,
    /// Its device index there.
    pub device_index: Option<u32>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
}

/// An instance.
#[derive(Clone, Debug, Deserialize)]
pub struct Instance {
    /// `i-...`
    pub instance_id: String,
    /// `m5.large`...
    pub instance_type: String,
    /// `running`, `stopped`, `terminated`...
    pub state: String,
    /// The subnet of the primary interface.
    pub subnet_id: String,
}

/// A call that waits until it is released.
#[derive(Clone, Debug, Deserialize)]
pub struct HeldCall {
    /// The number of the call.
    pub hold: u64,
    /// The fault that holds the call.
    pub fault: u64,
    /// Whether the call is held `before` or `after` its execution.
    pub when: String,
    /// The action.
    pub action: String,
    /// The interface that the call names.
    pub network_interface_id: Option<String>,
    /// The addresses that the call names.
    pub addresses: Vec<String>,
}
