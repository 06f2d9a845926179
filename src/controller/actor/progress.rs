//! How long a claim takes, and whether it moves the address: for the metrics, and for `lastMoveTime`.

use std::collections::BTreeMap;

use mooring_plan::names::{IpName, Millis, Place};
use mooring_plan::objects::Claim;

use crate::api::read::Moved;

/// A claim on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Way {
    begun: Millis,
    /// Where the address was before, for whom it may have been.
    from: Option<Place>,
    /// Did another hold it?
    taken_over: bool,
}

/// The claims on their way.
#[derive(Debug, Default)]
pub(super) struct Progress(BTreeMap<IpName, Way>);

/// A claim that has been recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    /// How long it took; None where this process did not see it begin.
    pub(super) took: Option<Millis>,
    /// Was it taken over from another place or pod?
    pub(super) move_of_it: bool,
}

impl Progress {
    /// A claim was written over `before`, by a write that was begun then.
    pub(super) fn claimed(&mut self, ip: &IpName, before: Option<&Claim>, begun: Millis) {
        // A claim that changes its target on the way is still the same wait.
        if before.is_some_and(|claim| !claim.recorded()) && self.0.contains_key(ip) {
            return;
        }
        let from = before
            .and_then(Claim::target)
            .map(|target| target.place.clone());
        self.0.insert(
            ip.clone(),
            Way {
                begun,
                taken_over: from.is_some(),
                from,
            },
        );
    }

    /// Is a Record at this place news of the place? A process that did not see the claim begin assumes so.
    pub(super) fn moved(&self, ip: &IpName, to: &Place) -> Moved {
        match self.0.get(ip) {
            Some(way) if way.from.as_ref() == Some(to) => Moved::No,
            _ => Moved::Yes,
        }
    }

    /// It was recorded.
    pub(super) fn recorded(&mut self, ip: &IpName, now: Millis) -> Arrival {
        let way = self.0.remove(ip);
        Arrival {
            took: way.as_ref().map(|way| now.since(way.begun)),
            move_of_it: way.is_some_and(|way| way.taken_over),
        }
    }

    /// It will not be.
    pub(super) fn dropped(&mut self, ip: &IpName) {
        self.0.remove(ip);
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, Progress};
    use crate::api::read::Moved;
    use mooring_plan::names::{IpName, Millis, NodeName, Place, PodKey, PodUid};
    use mooring_plan::objects::{Claim, Hold, Target};

    fn place(interface: &str) -> Place {
        Place {
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
            hold: Hold::Recorded(target),
        }
    }

    #[test]
    fn a_first_attach_is_no_move_and_its_place_is_news() {
        let (mut progress, ip) = (Progress::default(), IpName::from("a"));
        progress.claimed(&ip, None, Millis(10));
        assert_eq!(progress.moved(&ip, &place("eni-1")), Moved::Yes);
        let arrival = progress.recorded(&ip, Millis(30));
        assert_eq!(
            arrival,
            Arrival {
                took: Some(Millis(20)),
                move_of_it: false
            }
        );
    }

    #[test]
    fn a_move_onto_the_same_interface_is_a_move_to_no_other_place() {
        let (mut progress, ip) = (Progress::default(), IpName::from("a"));
        progress.claimed(&ip, Some(&recorded("eni-1")), Millis(0));
        assert_eq!(progress.moved(&ip, &place("eni-1")), Moved::No);
        assert_eq!(progress.moved(&ip, &place("eni-2")), Moved::Yes);
        assert!(progress.recorded(&ip, Millis(1)).move_of_it);
    }

    #[test]
    fn what_began_before_this_process_has_no_length() {
        let mut progress = Progress::default();
        assert_eq!(progress.recorded(&IpName::from("a"), Millis(1)).took, None);
    }
}
