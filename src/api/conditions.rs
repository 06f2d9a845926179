//! Conditions of Mooring's objects: a list with one entry for each type, with correct transition times.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition as Written, Time};
use mooring_plan::objects::Condition;

pub use mooring_plan::objects::{BRAKE_ENGAGED, ORPHANED_ADDRESS, READY, SHARED_WITH_CNI};

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

/// The condition of this type.
#[must_use]
pub fn find<'a>(conditions: &'a [Written], kind: &str) -> Option<&'a Written> {
    conditions.iter().find(|entry| entry.type_ == kind)
}

/// Writes a condition into the list. An existing entry of its type is replaced at its position. `lastTransitionTime` is
/// kept unless the status changes, so that to write the same condition again changes nothing.
pub fn put(conditions: &mut Vec<Written>, kind: &str, condition: &Condition, now: &Time) {
    let status = if condition.status { "True" } else { "False" };
    let since = find(conditions, kind)
        .filter(|was| was.status == status)
        .map_or_else(|| now.clone(), |was| was.last_transition_time.clone());
    let next = Written {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: condition.reason.as_str().to_owned(),
        message: condition.message.clone(),
        observed_generation: Some(condition.generation),
        last_transition_time: since,
    };
    match conditions.iter_mut().find(|entry| entry.type_ == kind) {
        Some(place) => *place = next,
        None => conditions.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Reason;
    use k8s_openapi::jiff::Timestamp;

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn ready(status: bool, reason: Reason) -> Condition {
        Condition {
            status,
            reason,
            message: "as it is".to_owned(),
            generation: 1,
        }
    }

    #[test]
    fn the_transition_time_moves_only_when_the_status_turns() {
        let mut conditions = Vec::new();
        let mut put = |ready, second| {
            put(&mut conditions, READY, &ready, &at(second));
            assert_eq!(conditions.len(), 1);
            conditions[0].clone()
        };
        put(ready(false, Reason::Waiting), 1);
        let missing = put(ready(false, Reason::BlockMissing), 2);
        assert_eq!(missing.last_transition_time, at(1));
        assert_eq!(missing.reason, "BlockMissing");
        let now = put(ready(true, Reason::Ready), 3);
        assert_eq!(now.last_transition_time, at(3));
        assert_eq!(now.status, "True");
    }
}
