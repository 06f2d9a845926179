//! Instances are stopped and terminated, other instances continue to run while their nodes are not ready, and EC2
//! sometimes does not answer. The block has fast failover.

use std::time::Duration;

use super::Simulation;
use super::actions::Actions;
use super::settle::settle;
use super::setup::{self, TURN};
use crate::world::Health;

/// The number of events.
const ROUNDS: u32 = 14;

/// A machine that will be healthy again.
struct Back {
    at: Duration,
    name: String,
}

/// Runs the scenario.
pub(super) async fn run(simulation: &mut Simulation, seed: u64) -> Result<(), String> {
    setup::set_up(simulation).await?;
    let mut back: Vec<Back> = Vec::new();
    for _ in 0..ROUNDS {
        let until = simulation.log.now() + simulation.chance.millis(5000, 40_000);
        while simulation.log.now() < until {
            simulation.pass(TURN).await;
            come_back(simulation, &mut back);
        }
        event(simulation, &mut back).await;
    }
    simulation.faults.end();
    for Back { name, .. } in &mut back {
        simulation.world.person_taints(name, false);
    }
    let mut actions = Actions::new(seed);
    actions.heal(&mut simulation.world);
    simulation.replicas.start_all();
    // Machines whose Nodes are not deleted yet come last.
    while !back.is_empty() {
        simulation.pass(TURN).await;
        for one in &mut back {
            one.at = Duration::ZERO;
        }
        come_back(simulation, &mut back);
    }
    settle(simulation, &mut actions).await?;
    let left = simulation.world.tainted();
    if left.is_empty() {
        Ok(())
    } else {
        Err(format!("nodes are still out of service: {left:?}"))
    }
}

/// Makes the machines that are due healthy again.
fn come_back(simulation: &mut Simulation, back: &mut Vec<Back>) {
    let now = simulation.log.now();
    let world = &mut simulation.world;
    let mut later = Vec::new();
    for one in back.drain(..) {
        let health = world.machines.get(&one.name).map(|machine| machine.health);
        match health {
            // Its Node is not deleted yet.
            Some(Health::Gone(_)) => later.push(one),
            _ if now < one.at => later.push(one),
            None => world.join(&one.name),
            Some(_) => {
                world.person_taints(&one.name, false);
                world.set_health(&one.name, |_| Health::Well);
            }
        }
    }
    *back = later;
}

/// Carries out one random event.
async fn event(simulation: &mut Simulation, back: &mut Vec<Back>) {
    let well = simulation.world.machines.iter();
    let well = well.filter(|(_, machine)| machine.health == Health::Well);
    let well: Vec<String> = well.map(|(name, _)| name.clone()).collect();
    let name = simulation.chance.pick(&well).cloned();
    // Two machines stay healthy, so that there is room for all addresses.
    let Some(name) = name.filter(|_| well.len() > 2) else {
        return;
    };
    let at = simulation.log.now() + simulation.chance.millis(20_000, 120_000);
    let to: Option<fn(Duration) -> Health> = match simulation.chance.between(0, 12) {
        0..=3 => Some(Health::Stopped),
        4 => Some(Health::Gone),
        5..=7 => Some(Health::Silent),
        8 => {
            let until = simulation.log.now() + simulation.chance.millis(5000, 40_000);
            simulation.world.blink(&name, until);
            None
        }
        9 => {
            simulation.faults.set_ec2_unreachable(true);
            None
        }
        10 => {
            simulation.faults.change(&mut simulation.chance);
            None
        }
        _ => {
            simulation.faults.end();
            simulation.replicas.kill(0).await;
            simulation.replicas.start(0);
            None
        }
    };
    let Some(to) = to else { return };
    simulation.world.set_health(&name, to);
    if simulation.chance.one_in(2) {
        simulation.world.last_word(&name);
    }
    if simulation.chance.one_in(4) {
        simulation.world.person_taints(&name, true);
    }
    back.push(Back { at, name });
}
