//! What EC2 does to the calls that reach it.

use std::collections::BTreeSet;
use std::time::Duration;

use ec2_emulator::wire::Action;

use crate::chance::Chance;

/// How EC2 is today.
#[derive(Clone, Debug)]
pub struct Weather {
    /// So often in a thousand something happens to a call.
    pub trouble: u64,
    /// How long a call takes before it is executed, in milliseconds, from and to.
    pub latency: (u64, u64),
    /// How old a Describe's answer is.
    pub lag: Duration,
    /// How late a call lands that is late, in milliseconds, from and to.
    pub late: (u64, u64),
    /// Nothing comes through.
    pub away: bool,
    /// Not allowed at present.
    pub denied: BTreeSet<Action>,
    /// Every call is throttled so often in a thousand.
    pub throttled: u64,
    /// Every call is answered with a server error so often in a thousand, and half of those are executed.
    pub errors: u64,
}

impl Default for Weather {
    fn default() -> Self {
        Self {
            trouble: 0,
            latency: (20, 200),
            lag: Duration::ZERO,
            late: (1000, 7500),
            away: false,
            denied: BTreeSet::new(),
            throttled: 0,
            errors: 0,
        }
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is executed and answered.
    Served,
    /// It never arrives; the connection breaks.
    LostBefore,
    /// It is executed; the connection breaks.
    LostAfter,
    /// It never arrives, and nobody says so.
    Silence,
    /// It is answered with a server error; nothing was executed.
    ErrorBefore,
    /// It is answered with a server error, and was executed.
    ErrorAfter,
    /// It is executed so much later.
    Late(Duration),
    /// It is executed, and the answer comes so much later.
    LateAnswer(Duration),
    /// It is executed again so much later.
    Twice(Duration),
    /// `RequestLimitExceeded`
    Throttled,
    /// `UnauthorizedOperation`
    Denied,
}

/// The longest that a call is on its way, beside what a paused process holds back.
pub const LATEST: Duration = Duration::from_secs(8);
/// The same where EC2 is beyond the bounds that Mooring counts on.
pub const BEYOND: Duration = Duration::from_secs(45);

impl Weather {
    /// What becomes of a call of this action.
    #[must_use]
    pub fn fate(&self, action: Action, chance: &mut Chance) -> Fate {
        if self.away {
            return if chance.one_in(2) {
                Fate::Silence
            } else {
                Fate::LostBefore
            };
        }
        if self.denied.contains(&action) {
            return Fate::Denied;
        }
        if chance.permille(self.throttled) {
            return Fate::Throttled;
        }
        if chance.permille(self.errors) {
            return if chance.one_in(2) {
                Fate::ErrorBefore
            } else {
                Fate::ErrorAfter
            };
        }
        if !chance.permille(self.trouble) {
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
