//! Where the block asks for the node part, a pod says that it has the address only after its node has programmed it
//! for this claim.
//! Rule: R4.36.

use mooring_plan::objects::{AddressState, Claim};
use mooring_plan::reason::Reason;
use mooring_plan::step::Write;
use mooring_world::kube::Kube;

use super::{Broken, Rule, require};
use crate::shared::Shared;
use crate::state::State;

/// A gate that was written.
pub fn written(state: &State, before: &Shared<Kube>, write: &Write) -> Result<(), Broken> {
    let Write::Gate(gate) = write else {
        return Ok(());
    };
    if !gate.status || gate.reason != Reason::Attached {
        return Ok(());
    }
    for ip in before.ips.values() {
        let asks = before.asks_for_node_part(ip);
        let claim = ip
            .status
            .claim
            .as_ref()
            .filter(|claim| asks && claim.uid == gate.uid);
        // S1 checks whether the pod may say so under another claim.
        let Some((claim, target)) = claim
            .filter(|claim| claim.recorded())
            .and_then(|claim: &Claim| Some((claim, claim.target()?)))
        else {
            continue;
        };
        let programmed = state.kube.node_parts.programmed(&target.node, &ip.name);
        let done = programmed
            .is_some_and(|done| done.claim == claim.id && done.state == AddressState::Programmed);
        require(done, Rule::Programmed, || {
            format!(
                "{} is ready, and node {} has programmed {programmed:?}",
                gate.pod, target.node
            )
        })?;
    }
    Ok(())
}
