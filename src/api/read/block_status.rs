//! Reads and writes the status of an `IPBlock`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use mooring_plan::objects::BlockStatus;
use serde_json::Value;

use super::conditions;
use super::ip_status::with_nulls;
use crate::api::IpBlockStatus;
use crate::api::conditions::{BRAKE_ENGAGED, ORPHANED_ADDRESS, READY, SHARED_WITH_CNI};

/// The conditions of a block.
const CONDITIONS: [&str; 4] = [READY, SHARED_WITH_CNI, ORPHANED_ADDRESS, BRAKE_ENGAGED];

/// Every field of the status.
pub(super) const FIELDS: [&str; 8] = [
    "subnetCIDRs",
    "capacity",
    "reserved",
    "attached",
    "foreign",
    "free",
    "nodes",
    "conditions",
];

/// Reads a status.
#[must_use]
pub fn read_block_status(status: &IpBlockStatus) -> BlockStatus {
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    BlockStatus {
        subnet_cidrs: status.subnet_cidrs.clone(),
        capacity: count(status.capacity),
        reserved: count(status.reserved),
        attached: count(status.attached),
        foreign: count(status.foreign),
        free: count(status.free),
        nodes: count(status.nodes),
        conditions: CONDITIONS
            .iter()
            .filter_map(|kind| {
                Some((
                    (*kind).to_owned(),
                    conditions::read(&status.conditions, kind)?,
                ))
            })
            .collect(),
    }
}

/// The `status` of a merge patch that replaces the fields of Mooring in `before`.
///
/// # Errors
/// The status cannot be converted to JSON.
pub fn block_status_patch(
    status: &BlockStatus,
    before: &IpBlockStatus,
    now: &Time,
) -> Result<Value, serde_json::Error> {
    with_nulls(serde_json::to_value(write(status, before, now))?, &FIELDS)
}

pub(super) fn write(status: &BlockStatus, before: &IpBlockStatus, now: &Time) -> IpBlockStatus {
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    IpBlockStatus {
        subnet_cidrs: status.subnet_cidrs.clone(),
        capacity: count(status.capacity),
        reserved: count(status.reserved),
        attached: count(status.attached),
        foreign: count(status.foreign),
        free: count(status.free),
        nodes: count(status.nodes),
        conditions: conditions::write(
            &before.conditions,
            now,
            CONDITIONS.map(|kind| (kind, status.conditions.get(kind))),
        ),
    }
}
