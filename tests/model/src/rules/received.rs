//! What must be true when a process has received an event or an answer.

use mooring_world::text::brief;

use super::{Broken, Rule};
use crate::state::State;

/// What must be true when the processes have received events and answers.
pub fn when_received(state: &State) -> Result<(), Broken> {
    let processes = state.controllers.iter();
    let mut missed = processes.filter_map(|process| process.state.missed.as_ref());
    missed.next().map_or(Ok(()), |(ip, step)| {
        Err(Broken {
            rule: Rule::Queued,
            how: format!("{ip} is not queued for: {}", brief(step)),
        })
    })
}
