//! What must be true when a call of EC2 is sent.

use mooring_plan::cloud::Reassign;
use mooring_plan::objects::{ClaimPhase, Ip};
use mooring_plan::step::Call;
use mooring_world::queries::explains;

use super::{Broken, Rule, require};
use crate::fixtures::Fixtures;
use crate::state::State;

/// `ip` is the IP that the sender has decided from.
pub fn call(state: &State, fixtures: &Fixtures, ip: &Ip, call: &Call) -> Result<(), Broken> {
    let address = call.address();
    match call {
        Call::Assign {
            interface,
            reassign,
            ..
        } => {
            let claim = ip.status.claim.as_ref();
            let target = claim.and_then(|claim| match &claim.phase {
                ClaimPhase::Claimed(target) => Some((claim, target)),
                _ => None,
            });
            let Some((claim, target)) = target.filter(|_| ip.status.address == Some(address))
            else {
                let how = format!("{call:?} without a claim");
                return Err(Broken {
                    rule: Rule::S3,
                    how,
                });
            };
            let there = &target.place.interface == interface;
            require(there, Rule::S2, || {
                format!("{call:?}, and the claim is for {target:?}")
            })?;
            let bound = fixtures.bound_to(&claim.uid, &target.place.instance);
            require(bound, Rule::S2, || {
                format!("{} was never bound to {target:?}", claim.uid)
            })?;
            let desired = ip
                .desired
                .as_ref()
                .map_or(Reassign::Refuse, |desired| desired.reassign);
            let allowed = *reassign == Reassign::Refuse || desired == Reassign::Allow;
            require(allowed, Rule::S4, || {
                format!("{call:?}, and the spec does not allow it")
            })?;
        }
        Call::Unassign { interface, .. } => {
            let known = explains(&ip.status, address, interface);
            require(known, Rule::S2, || format!("{call:?} is not explained"))?;
        }
    }
    // If the claim has changed, the call is late, and other rules apply.
    let now = state
        .kube
        .ips
        .get(&ip.name)
        .filter(|now| now.status.claim == ip.status.claim && now.uid == ip.uid);
    if let Some(now) = now.filter(|now| now.status.address == Some(address)) {
        let attached: Vec<_> = state
            .kube
            .reports_attached(now)
            .map(|pod| &pod.uid)
            .collect();
        require(attached.is_empty(), Rule::S1, || {
            format!("{call:?} while {attached:?} say that they have it")
        })?;
    }
    Ok(())
}
