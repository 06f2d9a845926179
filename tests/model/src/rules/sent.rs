//! What must be so when a call leaves for EC2.

use mooring_plan::cloud::Reassign;
use mooring_plan::objects::{Hold, Ip};
use mooring_plan::step::Call;

use super::{Broken, Rule, explains, must, says_attached};
use crate::cast::Cast;
use crate::state::State;

/// `ip` is what the sender decided from.
pub fn call(state: &State, cast: &Cast, ip: &Ip, call: &Call) -> Result<(), Broken> {
    let address = call.address();
    match call {
        Call::Assign(interface, _, reassign) => {
            let claim = ip.status.claim.as_ref();
            let target = claim.and_then(|claim| match &claim.hold {
                Hold::Claimed(target) => Some((claim, target)),
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
            must(there, Rule::S2, || {
                format!("{call:?}, and the claim is for {target:?}")
            })?;
            let bound = cast.bound_to(&claim.uid, &target.place.instance);
            must(bound, Rule::S2, || {
                format!("{} was never bound to {target:?}", claim.uid)
            })?;
            let wish = ip
                .wish
                .as_ref()
                .map_or(Reassign::Refuse, |wish| wish.reassign);
            let allowed = *reassign == Reassign::Refuse || wish == Reassign::Allow;
            must(allowed, Rule::S4, || {
                format!("{call:?}, and the wish does not allow it")
            })?;
        }
        Call::Unassign(interface, _) => {
            let known = explains(&ip.status, address, interface);
            must(known, Rule::S2, || format!("{call:?} is not explained"))?;
        }
    }
    // A claim that was overtaken sends a late call, for which there are other rules.
    let now = state
        .kube
        .ips
        .get(&ip.name)
        .filter(|now| now.status.claim == ip.status.claim && now.uid == ip.uid);
    if let Some(now) = now.filter(|now| now.status.address == Some(address)) {
        let saying: Vec<_> = says_attached(&state.kube, now)
            .map(|pod| &pod.uid)
            .collect();
        must(saying.is_empty(), Rule::S1, || {
            format!("{call:?} while {saying:?} say they have it")
        })?;
    }
    Ok(())
}
