//! The settings that can change at run time.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::wire::Action;

use super::buckets::Size;

/// The behaviour of EC2 without faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// The age of the answer of a Describe in milliseconds.
    pub lag_ms: u64,
    /// The time that each call takes before it is executed.
    pub latency_ms: Latency,
    /// Are calls throttled?
    pub token_buckets: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lag_ms: 0,
            latency_ms: Latency::default(),
            token_buckets: true,
        }
    }
}

/// Milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// For actions that are not named.
    #[serde(default)]
    pub default: u64,
    /// By action.
    #[serde(default)]
    pub actions: BTreeMap<Action, u64>,
}

impl Settings {
    /// The age of the answer of a Describe.
    #[must_use]
    pub const fn lag(&self) -> Duration {
        Duration::from_millis(self.lag_ms)
    }

    /// The time that a call takes before it is executed.
    #[must_use]
    pub fn latency(&self, action: Action) -> Duration {
        let latency = &self.latency_ms;
        Duration::from_millis(*latency.actions.get(&action).unwrap_or(&latency.default))
    }
}

/// The body of `POST /_emulator/settings`: omitted fields do not change.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// See [`Settings::lag_ms`].
    pub lag_ms: Option<u64>,
    /// See [`Settings::latency_ms`]. It replaces the whole value.
    pub latency_ms: Option<Latency>,
    /// See [`Settings::token_buckets`]. Buckets are full when they are turned on.
    pub token_buckets: Option<bool>,
    /// Sizes that differ from those of EC2, by action. Both buckets of a Describe get the same size.
    #[serde(default)]
    pub bucket_sizes: BTreeMap<Action, Size>,
    /// The number of calls that are left in the buckets of an action now, at most their size.
    #[serde(default)]
    pub tokens: BTreeMap<Action, u32>,
}
