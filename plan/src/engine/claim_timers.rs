//! Measures how long a claim takes, and whether it moves the address: for metrics and for `lastMoveTime`.

use alloc::collections::BTreeMap;
use core::time::Duration;

use crate::names::{InterfaceRef, IpName, PodUid};
use crate::objects::Claim;
use crate::step::Moved;
use crate::time::Instant;

/// A claim that is not recorded yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ClaimTimer {
    begun: Instant,
    /// Where the address was before, and for which pod.
    from: Option<(InterfaceRef, PodUid)>,
}

/// The claims that are not recorded yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ClaimTimers(BTreeMap<IpName, ClaimTimer>);

/// The measurements of a recorded claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordedClaim {
    /// Time from claim to Record; None if this process did not see the claim begin.
    pub(super) took: Option<Duration>,
    /// True if the address was at another place or had another pod before.
    pub(super) taken_over: bool,
}

impl ClaimTimers {
    /// A claim was written that replaces `before`; `begun` is when the write was begun.
    pub(super) fn claimed(&mut self, ip: &IpName, before: Option<&Claim>, begun: Instant) {
        // If a claim changes its target before it is recorded, the time counts from the first claim.
        if before.is_some_and(|claim| !claim.recorded()) && self.0.contains_key(ip) {
            return;
        }
        let from =
            before.and_then(|claim| Some((claim.target()?.place.clone(), claim.uid.clone())));
        self.0.insert(ip.clone(), ClaimTimer { begun, from });
    }

    /// Whether a Record at this place changes `lastMoveTime`. Yes if this process did not see the claim begin.
    pub(super) fn moved(&self, ip: &IpName, to: &InterfaceRef) -> Moved {
        match self.0.get(ip) {
            Some(ClaimTimer {
                from: Some((from, _)),
                ..
            }) if from == to => Moved::No,
            _ => Moved::Yes,
        }
    }

    /// This claim was recorded. After an edit or drift it can be for the same pod at the same place as before.
    pub(super) fn recorded(&mut self, ip: &IpName, claim: &Claim, now: Instant) -> RecordedClaim {
        let timer = self.0.remove(ip);
        let place = claim.target().map(|target| &target.place);
        RecordedClaim {
            took: timer.as_ref().map(|timer| now.since(timer.begun)),
            taken_over: timer
                .and_then(|timer| timer.from)
                .is_some_and(|(from, pod)| Some(&from) != place || pod != claim.uid),
        }
    }

    /// Forgets all claims.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The claim ended without a Record.
    pub(super) fn dropped(&mut self, ip: &IpName) {
        self.0.remove(ip);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use core::time::Duration;

    use super::{ClaimTimers, RecordedClaim};
    use crate::names::{ClaimId, InterfaceRef, IpName, NodeName, PodKey, PodUid};
    use crate::objects::{Claim, ClaimPhase, Target};
    use crate::step::Moved;
    use crate::time::Instant;

    fn place(interface: &str) -> InterfaceRef {
        InterfaceRef {
            interface: interface.into(),
            instance: "i-1".into(),
        }
    }

    fn recorded(interface: &str) -> Claim {
        let target = Target {
            node: NodeName::from("n"),
            place: place(interface),
        };
        Claim {
            pod: PodKey::new("shop", "web"),
            uid: PodUid::from("p"),
            id: ClaimId(1),
            phase: ClaimPhase::Recorded(target),
        }
    }

    #[test]
    fn a_first_attach_is_no_takeover_and_changes_the_time_of_the_last_move() {
        let (mut timers, ip) = (ClaimTimers::default(), IpName::from("a"));
        timers.claimed(&ip, None, Instant::from_millis(10));
        assert_eq!(timers.moved(&ip, &place("eni-1")), Moved::Yes);
        let expected = RecordedClaim {
            took: Some(Duration::from_millis(20)),
            taken_over: false,
        };
        assert_eq!(
            timers.recorded(&ip, &recorded("eni-1"), Instant::from_millis(30)),
            expected
        );
    }

    #[test]
    fn a_takeover_on_the_same_interface_does_not_change_the_time_of_the_last_move() {
        let (mut timers, ip) = (ClaimTimers::default(), IpName::from("a"));
        timers.claimed(&ip, Some(&recorded("eni-1")), Instant::START);
        assert_eq!(timers.moved(&ip, &place("eni-1")), Moved::No);
        assert_eq!(timers.moved(&ip, &place("eni-2")), Moved::Yes);
        let by = Claim {
            uid: PodUid::from("q"),
            ..recorded("eni-1")
        };
        assert!(timers.recorded(&ip, &by, Instant::START).taken_over);
    }

    #[test]
    fn only_another_place_or_pod_is_a_takeover() {
        let ip = IpName::from("a");
        for (to, taken_over) in [("eni-1", false), ("eni-2", true)] {
            let mut timers = ClaimTimers::default();
            timers.claimed(&ip, Some(&recorded("eni-1")), Instant::START);
            let recorded = timers.recorded(&ip, &recorded(to), Instant::START);
            assert_eq!(recorded.taken_over, taken_over, "{to}");
        }
    }

    fn claimed(interface: &str) -> Claim {
        let before = recorded(interface);
        let target = before.target().unwrap().clone();
        Claim {
            phase: ClaimPhase::Claimed(target),
            ..before
        }
    }

    #[test]
    fn a_claim_that_changes_before_it_is_recorded_is_still_the_same_wait() {
        let (mut timers, ip) = (ClaimTimers::default(), IpName::from("a"));
        timers.claimed(&ip, None, Instant::from_millis(10));
        timers.claimed(&ip, Some(&claimed("eni-1")), Instant::from_millis(20));
        let expected = RecordedClaim {
            took: Some(Duration::from_millis(20)),
            taken_over: false,
        };
        assert_eq!(
            timers.recorded(&ip, &recorded("eni-1"), Instant::from_millis(30)),
            expected
        );
    }

    #[test]
    fn a_claim_over_one_that_was_recorded_is_another_wait() {
        let (mut timers, ip) = (ClaimTimers::default(), IpName::from("a"));
        timers.claimed(&ip, None, Instant::from_millis(10));
        timers.claimed(&ip, Some(&recorded("eni-1")), Instant::from_millis(20));
        let took = timers
            .recorded(&ip, &recorded("eni-1"), Instant::from_millis(30))
            .took;
        assert_eq!(took, Some(Duration::from_millis(10)));
    }

    #[test]
    fn a_claim_that_another_process_began_is_measured_from_when_this_one_changes_it() {
        let (mut timers, ip) = (ClaimTimers::default(), IpName::from("a"));
        timers.claimed(&ip, Some(&claimed("eni-1")), Instant::from_millis(20));
        let took = timers
            .recorded(&ip, &recorded("eni-1"), Instant::from_millis(30))
            .took;
        assert_eq!(took, Some(Duration::from_millis(10)));
    }

    #[test]
    fn a_claim_that_is_dropped_is_not_measured() {
        let (mut timers, ip) = (ClaimTimers::default(), IpName::from("a"));
        timers.claimed(&ip, None, Instant::from_millis(10));
        timers.dropped(&ip);
        assert_eq!(
            timers
                .recorded(&ip, &recorded("eni-1"), Instant::from_millis(30))
                .took,
            None
        );
    }

    #[test]
    fn a_claim_that_began_before_this_process_has_no_length() {
        let mut timers = ClaimTimers::default();
        assert_eq!(
            timers
                .recorded(&IpName::from("a"), &recorded("eni-1"), Instant::START)
                .took,
            None
        );
    }
}
