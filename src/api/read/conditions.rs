//! Reads and writes conditions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition as Written, Time};
use mooring_plan::objects::Condition;
use mooring_plan::reason::Reason;

use crate::api::conditions::{find, put};

/// The condition of this type. A condition with an unknown status or reason counts as absent, so that it is written
/// again.
pub(super) fn read(conditions: &[Written], kind: &str) -> Option<Condition> {
    let written = find(conditions, kind)?;
    let status = match written.status.as_str() {
        "True" => true,
        "False" => false,
        _ => return None,
    };
    Some(Condition {
        status,
        reason: Reason::from_word(&written.reason)?,
        message: written.message.clone(),
        generation: written.observed_generation.unwrap_or_default(),
    })
}

/// The list with exactly these conditions of Mooring. Conditions of others are kept.
pub(super) fn write<'a>(
    before: &[Written],
    now: &Time,
    ours: impl IntoIterator<Item = (&'static str, Option<&'a Condition>)>,
) -> Vec<Written> {
    let mut conditions = before.to_vec();
    for (kind, condition) in ours {
        match condition {
            Some(condition) => put(&mut conditions, kind, condition, now),
            None => conditions.retain(|entry| entry.type_ != kind),
        }
    }
    conditions
}
