//! What must be true in every state.

use mooring_plan::address::Address;
use mooring_plan::names::IpUid;
use mooring_world::kube::Kube;
use mooring_world::queries::explains;

use super::{Broken, Rule, require};
use crate::state::State;

/// Is the address reserved for this IP?
pub fn reserved(kube: &Kube, address: Address, uid: &IpUid) -> bool {
    let held = kube.reservations.get(&address);
    held.is_some_and(|held| held.owner.as_ref() == Some(uid) || held.label.as_ref() == Some(uid))
}

pub fn invariants(state: &State) -> Result<(), Broken> {
    let kube = &state.kube;
    for ip in kube.ips.values() {
        let attached: Vec<_> = kube.reports_attached(ip).map(|pod| &pod.uid).collect();
        require(attached.len() <= 1, Rule::S1, || {
            format!("{attached:?} say that they have {}", ip.name)
        })?;
        let places = ip.status.previous.len();
        require(places <= 8, Rule::Tracked, || format!("{places} places"))?;
    }
    for (address, on) in state.cloud.assigned() {
        if state.history.manual.contains(&(address, on.clone())) {
            continue;
        }
        let known = |ip: &&mooring_plan::objects::Ip| explains(&ip.status, address, &on);
        let Some(ip) = kube.ips.values().find(known) else {
            let how = format!("{address} is on {on} and no IP names it");
            return Err(Broken {
                rule: Rule::Tracked,
                how,
            });
        };
        let how = || format!("{address} is on {on} and not reserved for {}", ip.name);
        require(reserved(kube, address, &ip.uid), Rule::Tracked, how)?;
    }
    Ok(())
}
