//! Two hundred IPs in two subnets, each with a pod. They are attached; then a Node is created that names the instance
//! of another Node, a machine ends, pods are rolled out, and the leader is killed.

use std::time::Duration;

use super::Simulation;
use super::actions::{Actions, PUBLIC};
use super::settle::settle;
use super::setup::{run_until, wait_for_goal};
use crate::world::{Health, Kind, Range};

/// The number of IPs in each of the two blocks.
const IPS: u32 = 100;
/// Two hundred Assigns with a token bucket of five per second, and the other steps.
const START: Duration = Duration::from_mins(4);
/// The Node of a machine that ended still exists for some time; then its pods are created again and get their
/// addresses.
const MOVED: Duration = Duration::from_mins(5);

/// Runs the scenario.
pub(super) async fn run(simulation: &mut Simulation, seed: u64) -> Result<(), String> {
    for name in ["node-a", "node-b", "node-c", "node-d", "node-e", "node-f"] {
        simulation.world.join(name);
    }
    let range = |third| Range {
        third,
        first: 128,
        prefix: 25,
    };
    for (block, third) in [(PUBLIC, 1), ("second", 2)] {
        simulation.world.make_block(block, range(third));
        for number in 0..IPS {
            let name = format!("{block}-{number}");
            let reassign = simulation.chance.one_in(2);
            simulation.world.want(&name, block, None, reassign);
            let kind = if number.is_multiple_of(5) {
                Kind::Rolling
            } else {
                Kind::Stateful
            };
            simulation
                .world
                .deploy(&format!("app-{name}"), kind, &name, 1);
        }
    }
    simulation.replicas.start_all();
    wait_for_goal(simulation, START)
        .await
        .map_err(|missing| format!("the goal was not reached after the start: {missing}"))?;
    let took = simulation.log.now();
    simulation
        .log
        .note(format!("rest     the goal is reached after {took:?}"));
    simulation.world.forge("forged", "node-b");
    simulation.world.set_health("node-a", Health::Gone);
    for index in (0..simulation.world.workloads.len()).step_by(5).take(20) {
        simulation.world.roll_out(index, false);
    }
    run_until(simulation, simulation.log.now() + Duration::from_secs(20)).await;
    simulation.replicas.kill(0).await;
    run_until(simulation, simulation.log.now() + Duration::from_secs(20)).await;
    simulation.replicas.start_all();
    wait_for_goal(simulation, MOVED).await.map_err(|missing| {
        format!("a machine ended {MOVED:?} ago, and the goal is not reached: {missing}")
    })?;
    settle(simulation, &mut Actions::new(seed)).await
}
