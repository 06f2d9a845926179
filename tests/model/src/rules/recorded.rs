//! A Record says where the address is.
//! Rules: R1.9, R4.1, R6.8.

use mooring_plan::step::{StatusWrite, Write};

use super::{Broken, Rule, require};
use crate::state::State;

/// A Record that was written, if nothing has moved the address but the process that leads.
pub fn written(state: &State, write: &Write) -> Result<(), Broken> {
    let Write::Status {
        change: StatusWrite::Record,
        status,
        ..
    } = write
    else {
        return Ok(());
    };
    let target = status.claim.as_ref().and_then(|claim| claim.target());
    let Some((address, target)) = status.address.zip(target) else {
        return Ok(());
    };
    let on = state.cloud.holder_of(address);
    let there = on.as_ref() == Some(&target.place.interface);
    require(there || state.history.disturbed, Rule::Recorded, || {
        format!("{address} is recorded on {target:?}, and it is on {on:?}")
    })
}
