//! The faults of EC2.

use std::collections::BTreeSet;
use std::time::Duration;

use ec2_emulator::wire::Action;

use crate::chance::Chance;

/// The present faults of EC2.
#[derive(Clone, Debug)]
pub struct Ec2Faults {
    /// The rate of faults per thousand calls.
    pub fault_rate: u64,
    /// The time before a call is executed in milliseconds, from and to.
    pub latency: (u64, u64),
    /// The age of the answer of a Describe.
    pub lag: Duration,
    /// The delay of a late call in milliseconds, from and to.
    pub late: (u64, u64),
    /// No call arrives.
    pub unreachable: bool,
    /// The actions that are not allowed.
    pub denied: BTreeSet<Action>,
    /// The rate of throttled calls per thousand.
    pub throttle_rate: u64,
    /// The rate of server errors per thousand calls; half of these calls are executed.
    pub error_rate: u64,
}

impl Default for Ec2Faults {
    fn default() -> Self {
        Self {
            fault_rate: 0,
            latency: (20, 200),
            lag: Duration::ZERO,
            late: (1000, 7500),
            unreachable: false,
            denied: BTreeSet::new(),
            throttle_rate: 0,
            error_rate: 0,
        }
    }
}

/// The handling of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is executed and answered.
    Served,
    /// It never arrives; the connection breaks.
    LostBefore,
    /// It is executed; the connection breaks.
    LostAfter,
    /// It never arrives, and there is no answer.
    Silence,
    /// It is answered with a server error; nothing was executed.
    ErrorBefore,
    /// It is answered with a server error, and was executed.
    ErrorAfter,
    /// It is executed with this delay.
    Late(Duration),
    /// It is executed, and the answer has this delay.
    LateAnswer(Duration),
    /// It is executed, and executed again after this time.
    Twice(Duration),
    /// `RequestLimitExceeded`
    Throttled,
    /// `UnauthorizedOperation`
    Denied,
}

/// The longest delay of a call, except for paused processes.
pub const LATEST: Duration = Duration::from_secs(8);
/// The same while EC2 is beyond the limits that Mooring relies on.
pub const BEYOND: Duration = Duration::from_secs(45);

impl Ec2Faults {
    /// Chooses the handling of a call of this action.
    #[must_use]
    pub fn fate(&self, action: Action, chance: &mut Chance) -> Fate {
        if self.unreachable {
            return if chance.one_in(2) {
                Fate::Silence
            } else {
                Fate::LostBefore
            };
        }
        if self.denied.contains(&action) {
            return Fate::Denied;
        }
        if chance.permille(self.throttle_rate) {
            return Fate::Throttled;
        }
        if chance.permille(self.error_rate) {
            return if chance.one_in(2) {
                Fate::ErrorBefore
            } else {
                Fate::ErrorAfter
            };
        }
        if !chance.permille(self.fault_rate) {
            return Fate::Served;
        }
        let late = |chance: &mut Chance| chance.millis(self.late.0, self.late.1);
        match chance.between(0, 9) {
            0 => Fate::LostBefore,
            1 => Fate::LostAfter,
            2 => Fate::Silence,
            3 => Fate::ErrorBefore,
            4 => Fate::ErrorAfter,
            5 => Fate::Late(late(chance)),
            6 => Fate::LateAnswer(late(chance)),
            7 => Fate::Twice(late(chance)),
            _ => Fate::Throttled,
        }
    }
}
