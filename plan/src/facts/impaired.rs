//! Instances with a failing status check, while their nodes are away.
//! Rule: R3.41.

use alloc::string::String;

use super::{Affected, Facts};
use crate::backoff::CHECKS_DENIED;
use crate::ec2::IMPAIRED_FOR_GOOD;
use crate::names::InstanceId;
use crate::outcome::Outcome;
use crate::time::Instant;

/// A failing status check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Impaired {
    /// Since when it fails, as text of EC2. Another text means another failure.
    since: String,
    /// When the first and the last read were begun that showed this failure.
    pub(crate) first: Instant,
    pub(crate) last: Instant,
}

impl Impaired {
    /// Has it failed long enough to count as failed for good? Only what this process has seen counts: EC2 has another
    /// clock.
    pub(crate) fn is_for_good(&self) -> bool {
        self.last.since(self.first) >= IMPAIRED_FOR_GOOD
    }
}

impl Facts {
    /// Applies status checks. They are ignored if no Node of the instance exists any more, because no later fact would
    /// remove them.
    pub(super) fn see_checks(
        &mut self,
        instance: InstanceId,
        since: Option<String>,
        begun: Instant,
    ) -> Affected {
        let Some(since) = since else {
            self.impaired.remove(&instance);
            return Affected::Nothing;
        };
        if self.index.nodes_of(&instance).next().is_none() {
            return Affected::Nothing;
        }
        let known = self.impaired.get(&instance);
        let first = known.filter(|known| known.since == since);
        let first = first.map_or(begun, |known| known.first);
        let impaired = Impaired {
            since,
            first,
            last: begun,
        };
        self.impaired.insert(instance, impaired);
        Affected::Nothing
    }

    /// The status checks could not be read, which proves nothing. A missing permission is reported, and no read follows
    /// for some time. Without credentials the state of the instance cannot be read either, which is reported there.
    pub(super) fn checks_failed(&mut self, outcome: Outcome, now: Instant) -> Affected {
        if outcome == Outcome::Denied {
            self.checks_denied = Some(now.plus(CHECKS_DENIED));
        }
        Affected::Nothing
    }

    /// True if the status checks may be read now.
    pub(crate) fn may_ask_for_checks(&self, now: Instant) -> bool {
        self.checks_denied.is_none_or(|until| until <= now)
    }
}
