//! Faults that a test can order from the emulator.

use std::time::Duration;

use serde_json::{Value, json};

/// How the next matching calls fail.
///
/// ```no_run
/// # use mooring_cluster::Fault;
/// Fault::error("RequestLimitExceeded").of("AssignPrivateIpAddresses").address("203.0.113.10").times(3);
/// Fault::hold_before().of("UnassignPrivateIpAddresses"); // waits for `ec2.release_all()`
/// ```
#[derive(Clone, Debug)]
pub struct Fault(pub(super) Value);

impl Fault {
    fn kind(kind: &str) -> Self {
        Self(json!({"kind": kind}))
    }

    /// The connection is closed; nothing is executed.
    pub fn drop_before() -> Self {
        Self::kind("drop_before")
    }

    /// It is executed; the connection is closed without an answer.
    pub fn drop_after() -> Self {
        Self::kind("drop_after")
    }

    /// Refused with this error code, such as `UnauthorizedOperation`; the call is not executed.
    pub fn error(code: &str) -> Self {
        Self::kind("error").with("code", code)
    }

    /// Executed, but answered with 500 `InternalError`.
    pub fn error_after() -> Self {
        Self::kind("error")
            .with("code", "InternalError")
            .with("when", "after")
    }

    /// Delays the execution by this time.
    pub fn delay(time: Duration) -> Self {
        Self::kind("delay").with("ms", u64::try_from(time.as_millis()).unwrap())
    }

    /// Refused with `RequestLimitExceeded`.
    pub fn throttle() -> Self {
        Self::kind("throttle")
    }

    /// Executed twice; answered once.
    pub fn twice() -> Self {
        Self::kind("twice")
    }

    /// Waits before it is executed, until it is released.
    pub fn hold_before() -> Self {
        Self::kind("hold").with("when", "before")
    }

    /// Waits after it was executed, until it is released.
    pub fn hold_after() -> Self {
        Self::kind("hold").with("when", "after")
    }

    /// Only calls of this action.
    #[must_use]
    pub fn of(self, action: &str) -> Self {
        self.with("action", action)
    }

    /// Only calls that name this interface.
    #[must_use]
    pub fn interface(self, id: &str) -> Self {
        self.with("network_interface_id", id)
    }

    /// Only calls that name this address. Scenes that share a cluster should say so.
    #[must_use]
    pub fn address(self, address: &str) -> Self {
        self.with("address", address)
    }

    /// Only calls that name this instance.
    #[must_use]
    pub fn instance(self, id: &str) -> Self {
        self.with("instance_id", id)
    }

    /// Only an Assign that allows reassignment, or only one that does not.
    #[must_use]
    pub fn allowing_reassignment(self, allowed: bool) -> Self {
        self.with("allow_reassignment", allowed)
    }

    /// The fault affects this number of calls instead of one.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        self.with("times", count)
    }

    /// Every call, until the fault is cleared.
    #[must_use]
    pub fn forever(self) -> Self {
        self.with("forever", true)
    }

    /// The number of matching calls before the fault.
    #[must_use]
    pub fn skip(self, count: u64) -> Self {
        self.with("skip", count)
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0[key] = value.into();
        self
    }
}

/// A fault that was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultId(pub u64);
