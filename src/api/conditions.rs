//! Conditions of Mooring's objects: a list with one entry for each type, with correct transition times.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::Reason;

/// Reserved, and either unclaimed or attached, and programmed if the block asks for that (on an `IPBlock`: usable).
pub const READY: &str = "Ready";
/// The address is reserved.
pub const RESERVED: &str = "Reserved";
/// The address is on its holder's ENI.
pub const ATTACHED: &str = "Attached";
/// The node part has programmed the address. The condition exists while the address is attached and the block has
/// `spec.node`.
pub const PROGRAMMED: &str = "Programmed";
/// The target of the probe sees the address. The condition exists while the address is attached, the block has
/// `spec.node.probe`, and the node part has reported an outcome for the present claim.
pub const VERIFIED: &str = "Verified";
/// For a block: it uses an ENI that the VPC CNI may manage.
pub const SHARED_WITH_CNI: &str = "SharedWithCNI";
/// For a block: an address of it is on an ENI and no `IP` explains it.
pub const ORPHANED_ADDRESS: &str = "OrphanedAddress";
/// For a block: too many pods vanished at the same time, which may be a fault.
pub const BRAKE_ENGAGED: &str = "BrakeEngaged";

/// A condition to write, without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCondition {
    /// The condition's type.
    pub condition: &'static str,
    /// Whether the status is `True`.
    pub holds: bool,
    /// The reason.
    pub reason: Reason,
    /// The message: the present state, and what to do next.
    pub message: String,
    /// `metadata.generation` of the spec that the condition describes.
    pub generation: i64,
}

impl NewCondition {
    /// The condition for the object. `lastTransitionTime` is kept from `before` unless the status changes, so that to
    /// write the same condition again changes nothing.
    #[must_use]
    pub fn after(self, before: &[Condition], now: &Time) -> Condition {
        let status = if self.holds { "True" } else { "False" };
        let since = find(before, self.condition)
            .filter(|was| was.status == status)
            .map_or_else(|| now.clone(), |was| was.last_transition_time.clone());
        Condition {
            type_: self.condition.to_owned(),
            status: status.to_owned(),
            reason: self.reason.as_str().to_owned(),
            message: self.message,
            observed_generation: Some(self.generation),
            last_transition_time: since,
        }
    }

    /// Writes the condition into the list. An existing entry of its type is replaced at its position.
    pub fn put(self, conditions: &mut Vec<Condition>, now: &Time) {
        let next = self.after(conditions, now);
        match conditions
            .iter_mut()
            .find(|condition| condition.type_ == next.type_)
        {
            Some(place) => *place = next,
            None => conditions.push(next),
        }
    }
}

/// The condition of this type.
#[must_use]
pub fn find<'a>(conditions: &'a [Condition], condition: &str) -> Option<&'a Condition> {
    conditions.iter().find(|entry| entry.type_ == condition)
}

/// Whether the condition exists and is `True`.
#[must_use]
pub fn holds(conditions: &[Condition], condition: &str) -> bool {
    find(conditions, condition).is_some_and(|entry| entry.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::jiff::Timestamp;

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn ready(holds: bool, reason: Reason) -> NewCondition {
        NewCondition {
            condition: READY,
            holds,
            reason,
            message: "as it is".to_owned(),
            generation: 1,
        }
    }

    #[test]
    fn the_transition_time_moves_only_when_the_status_turns() {
        let mut conditions = Vec::new();
        ready(false, Reason::Waiting).put(&mut conditions, &at(1));
        ready(false, Reason::BlockMissing).put(&mut conditions, &at(2));
        assert_eq!(conditions.len(), 1);
        assert_eq!(conditions[0].last_transition_time, at(1));
        assert_eq!(conditions[0].reason, "BlockMissing");
        ready(true, Reason::Ready).put(&mut conditions, &at(3));
        assert_eq!(conditions[0].last_transition_time, at(3));
        assert!(holds(&conditions, READY));
    }
}
