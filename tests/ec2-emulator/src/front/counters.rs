//! The number of calls of each action, by outcome.

use std::collections::BTreeMap;

use serde::Serialize;

/// Outcomes that are not an error code of EC2.
pub mod outcome {
    /// The call was executed and answered.
    pub const SUCCESS: &str = "Success";
    /// The connection was closed; nothing was done.
    pub const DROPPED_BEFORE: &str = "DroppedBefore";
    /// It was executed; the connection was closed without an answer.
    pub const DROPPED_AFTER: &str = "DroppedAfter";
}

/// `{"AssignPrivateIpAddresses": {"Success": 3, "RequestLimitExceeded": 1}}`
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Counters(BTreeMap<String, BTreeMap<String, u64>>);

impl Counters {
    /// Counts one call.
    pub fn count(&mut self, action: &str, outcome: &str) {
        let outcomes = self.0.entry(action.to_owned()).or_default();
        *outcomes.entry(outcome.to_owned()).or_default() += 1;
    }

    /// Resets all counters to zero.
    pub fn reset(&mut self) {
        self.0.clear();
    }
}
