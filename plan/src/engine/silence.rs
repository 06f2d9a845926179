//! How long EC2 has answered no call of this process. If it does not answer for a minute, a replica elsewhere can have a
//! way to it.
//! Rule: R6.15.

use core::time::Duration;

use super::{Effect, Engine};
use crate::outcome::Outcome;
use crate::time::Instant;

/// The leader releases the lease when EC2 has answered no call for this time.
const GIVES_UP: Duration = Duration::from_mins(1);

/// The calls without an answer since the last one that was answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Silence {
    since: Instant,
    last: Instant,
}

impl Silence {
    /// The silence after a call that was not answered.
    fn after(before: Option<Self>, now: Instant) -> Self {
        // If no call was made for that long, the earlier ones say nothing of the time between.
        let goes_on = before.filter(|before| now.since(before.last) < GIVES_UP);
        Self {
            since: goes_on.map_or(now, |before| before.since),
            last: now,
        }
    }
}

impl Engine {
    /// Handles how a call of EC2 ended. None: it succeeded.
    pub(super) fn ec2_answered(&mut self, outcome: Option<Outcome>, now: Instant) {
        // A model checker has no election, and each different time would be another state.
        if !self.is_paced() || !self.leading {
            return;
        }
        if !outcome.is_some_and(Outcome::is_silence) {
            self.silence = None;
            return;
        }
        let silence = Silence::after(self.silence.take(), now);
        if now.since(silence.since) < GIVES_UP {
            self.silence = Some(silence);
        } else {
            self.outbox.push_back(Effect::Resign);
        }
    }
}
