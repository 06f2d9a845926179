//! Inputs of the engine that concern neither objects nor addresses.

use mooring_plan::cloud::Subnet;
use mooring_plan::engine::Event;
use mooring_plan::facts::Fact;
use mooring_plan::lease::Leadership;
use mooring_plan::step::BlockStep;

/// The process leads from now on without a time limit, or it does not lead.
pub fn leadership(leads: bool) -> Event {
    Event::Leadership(if leads {
        Leadership::ALWAYS
    } else {
        Leadership::default()
    })
}

/// The answer of EC2 to a step of a block, if it can affect an address.
pub fn answer(step: BlockStep, cidr: &str, limit: u32) -> Option<Fact> {
    match step {
        BlockStep::ReadSubnet(id) => {
            let cidrs = vec![cidr.parse().unwrap()];
            Some(Fact::SubnetRead(id, Subnet::untagged(cidrs)))
        }
        BlockStep::ReadLimits(types) => {
            let limits = types.into_iter().map(|kind| (kind, limit));
            Some(Fact::LimitsRead(limits.collect()))
        }
        _ => None,
    }
}
