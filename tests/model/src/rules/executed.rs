//! What must be true when EC2 executes a call, also after its sender stopped waiting for it.

use mooring_plan::cloud::Reassign;
use mooring_plan::step::Call;
use mooring_world::cloud::Cloud;
use mooring_world::queries::explains;

use super::{Broken, Rule, require};
use crate::rules::invariants::reserved;
use crate::shared::Shared;
use crate::state::State;
use crate::world::controller::Sent;

/// A request changes the addresses that it names, and no other.
pub fn nothing_else_moved(
    state: &State,
    before: &Shared<Cloud>,
    sent: &Sent,
) -> Result<(), Broken> {
    let named = sent.members();
    let (was, is) = (before.assigned(), state.cloud.assigned());
    let others = was
        .symmetric_difference(&is)
        .find(|(of, _)| named.iter().all(|(_, address)| address != of));
    require(others.is_none(), Rule::S4, || {
        format!("{:?} moved {others:?}", sent.step)
    })
}

/// The part of one address of a request.
pub fn executed(
    state: &State,
    before: &Shared<Cloud>,
    sent: &Sent,
    call: &Call,
    outdated: bool,
    awaited: bool,
) -> Result<(), Broken> {
    let address = call.address();
    let places = |cloud: &Shared<Cloud>| {
        let all = cloud.assigned().into_iter();
        all.filter(|(of, _)| *of == address).collect::<Vec<_>>()
    };
    let (was, is) = (places(before), places(&state.cloud));
    let ip = state.kube.ips.get(&sent.ip).filter(|ip| ip.uid == sent.uid);
    let explained = |on| ip.is_some_and(|ip| explains(&ip.status, address, on));
    // A late call without an effect is allowed.
    let overtaken = ip.is_none_or(|ip| ip.version != sent.version);
    if was != is || awaited && !overtaken {
        let known = explained(call.interface());
        require(known, Rule::S2, || {
            format!("{call:?} and the status does not name it")
        })?;
    }
    if was == is {
        return Ok(());
    }
    let ours = ip.is_some_and(|ip| reserved(&state.kube, address, &ip.uid));
    require(ours, Rule::S4, || {
        format!("{call:?}, and {address} is not reserved for {}", sent.ip)
    })?;
    let from = was.first().map(|(_, on)| on);
    if let (
        Call::Assign {
            interface: to,
            reassign: Reassign::Allow,
            ..
        },
        Some(on),
    ) = (call, from)
    {
        let known = on == to || explained(on) || outdated;
        require(known, Rule::S4, || format!("{address} is stolen from {on}"))?;
    }
    Ok(())
}
