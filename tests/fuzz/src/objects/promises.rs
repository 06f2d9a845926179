//! Properties of each step, for any objects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::core::DynamicObject;
use mooring::api::read;
use mooring_plan::cloud::Reassign;
use mooring_plan::objects::{ClaimPhase, Ip, IpStatus, MAX_PREVIOUS};
use mooring_plan::step::Moved;
use mooring_plan::step::{Call, StatusWrite};
use serde_json::Value;

/// A time for conditions. No decision depends on it.
pub fn time() -> Time {
    Time(Timestamp::UNIX_EPOCH)
}

/// The object with this status, merged as the API server does it.
pub fn with_status(object: &DynamicObject, status: &IpStatus) -> DynamicObject {
    let before = object.data.get("status").cloned().unwrap_or_default();
    let before: mooring::api::IpStatus = match before {
        Value::Null => mooring::api::IpStatus::default(),
        status => serde_json::from_value(status).unwrap(),
    };
    let patch = read::ip_status_patch(status, &before, Moved::No, &time()).unwrap();
    let mut after = object.clone();
    json_patch::merge(&mut after.data, &serde_json::json!({ "status": patch }));
    after
}

/// Checks that a written status is read back unchanged.
pub fn written_as_read(object: &DynamicObject, status: &IpStatus) {
    let read = read::ip(&with_status(object, status)).unwrap();
    assert_eq!(&read.status, status);
}

/// Checks that the durable status contains the claim or the place of a call.
pub fn may_call(ip: &Ip, call: &Call) {
    let status = &ip.status;
    let target = status.claim.as_ref().and_then(|claim| claim.target());
    let there = target.is_some_and(|target| &target.place.interface == call.interface());
    match call {
        Call::Assign {
            address, reassign, ..
        } => {
            let claim = status.claim.as_ref().map(|claim| &claim.phase);
            assert!(
                there
                    && status.address == Some(*address)
                    && !matches!(claim, Some(ClaimPhase::Detaching)),
                "{call:?} without a claim: {ip:?}"
            );
            let desired = ip.desired.as_ref().map(|desired| desired.reassign);
            assert!(
                *reassign == Reassign::Refuse || desired == Ok(Reassign::Allow),
                "{call:?}: {ip:?}"
            );
        }
        Call::Unassign { interface, address } => {
            let before = status.previous.iter();
            let mut before = before.map(|entry| (entry.address, &entry.interface));
            assert!(
                before.any(|place| place == (*address, interface))
                    || (there && status.address == Some(*address)),
                "{call:?} of what we did not put there: {ip:?}"
            );
        }
    }
}

/// Checks that a place where the address can be is not forgotten, and that the list of previous places does not exceed
/// its limit.
pub fn may_write(before: &Ip, what: StatusWrite, after: &IpStatus) {
    assert!(
        after.previous.len() <= MAX_PREVIOUS.max(before.status.previous.len()),
        "{after:?}"
    );
    let target = |status: &IpStatus| {
        let claim = status.claim.as_ref()?;
        Some((status.address?, claim.target()?.place.interface.clone()))
    };
    let Some(left) = target(&before.status).filter(|place| target(after).as_ref() != Some(place))
    else {
        return;
    };
    let known = after.previous.iter();
    let mut known = known.map(|entry| (entry.address, entry.interface.clone()));
    assert!(
        known.any(|place| place == left),
        "{what:?} forgets {left:?}: {before:?} -> {after:?}"
    );
    // Without a detach, the claim can be cleared only if EC2 refused the target permanently.
    let refused = after.refused.as_ref();
    let refused = refused.is_some_and(|refused| refused.interface == left.1);
    assert!(
        after.claim.is_some() || refused,
        "{what:?} lets go of what was not taken off: {before:?}"
    );
}
