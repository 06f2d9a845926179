//! `previous` names only places of this IP, and ENIs that a person named in `take-from`: an Unassign may follow for
//! every place in `previous`.
//! Rules: R4.16, R4.22, R4.26.

use mooring_plan::step::Write;
use mooring_world::kube::Kube;
use mooring_world::queries::explains;

use super::{Broken, Rule, require};
use crate::shared::Shared;

/// A status that was written: each place in `previous` was explained before, or `take-from` names it.
pub fn written(before: &Shared<Kube>, write: &Write) -> Result<(), Broken> {
    let Write::Status {
        ip: name, status, ..
    } = write
    else {
        return Ok(());
    };
    let Some(ip) = before.ips.get(name) else {
        return Ok(());
    };
    let seized = status.previous.iter().find(|entry| {
        let ours = explains(&ip.status, entry.address, &entry.interface);
        !ours && ip.take_from.as_ref() != Some(&entry.interface)
    });
    require(seized.is_none(), Rule::S4, || {
        format!("{seized:?} becomes a place of {name}, and nothing allows that")
    })
}
