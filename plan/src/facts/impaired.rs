//! Instances of which a status check fails, while their nodes are away.
//! Rule: R3.41.

use alloc::string::String;
use core::time::Duration;

use super::{Affected, Facts};
use crate::names::InstanceId;
use crate::outcome::Outcome;
use crate::time::Instant;

/// EC2 makes the checks every minute (EC2 User Guide, "Status checks"), and a brief failure passes by itself, or by the
/// automatic recovery of the instance. Five in a row while the kubelet is silent count as one that stays: this bound is
/// ours.
pub(crate) const FOR_GOOD: Duration = Duration::from_mins(5);

/// A permission that is missing is asked for again after this long.
const DENIED: Duration = Duration::from_mins(10);

/// A status check that fails.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Impaired {
    /// Since when, in the words of EC2: another moment is another failure.
    since: String,
    /// When the question was begun whose answer showed it first, and the last one that did.
    pub(crate) first: Instant,
    pub(crate) last: Instant,
}

impl Impaired {
    /// Has it failed long enough to count as failed for good? Only what this process has seen counts: EC2 has another clock.
    pub(crate) fn is_for_good(&self) -> bool {
        self.last.since(self.first) >= FOR_GOOD
    }
}

impl Facts {
    /// The answer to a question that was begun then. One that comes after the last Node of the instance is gone says
    /// nothing: no later fact would remove it.
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

    /// No answer says nothing. A permission that is missing is said, and not asked for again for some time.
    pub(super) fn miss_checks(&mut self, outcome: Outcome, now: Instant) -> Affected {
        if outcome == Outcome::Denied {
            self.checks_denied = Some(now.plus(DENIED));
        }
        Affected::Nothing
    }

    /// May the status checks be asked for?
    pub(crate) fn may_ask_for_checks(&self, now: Instant) -> bool {
        self.checks_denied.is_none_or(|until| until <= now)
    }
}
