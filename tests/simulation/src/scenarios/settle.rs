//! The end of a scenario: without faults, the goal is reached, and no more writes follow.

use std::time::Duration;

use super::Simulation;
use super::actions::Actions;
use super::goal::{braked, goal_reached, goal_reached_and_clean, written_since};
use super::manual_changes::correct;

/// The interval of the turns of the world.
const TURN: Duration = Duration::from_millis(500);
/// The time limit until the goal is reached without faults.
const REST: Duration = Duration::from_mins(8);
/// The longest interval of inventories that is waited for.
const LONGEST_INTERVAL: Duration = Duration::from_mins(1);
/// The minimum simulated time of a seed.
const LENGTH: Duration = Duration::from_secs(605);

/// There are no more faults: waits until the goal is reached, then checks that no more writes follow.
pub(super) async fn settle(
    simulation: &mut Simulation,
    actions: &mut Actions,
) -> Result<(), String> {
    let limit = simulation.log.now() + REST;
    let interval = simulation.replicas.settings().interval;
    // What only an inventory proves takes two of them.
    let reached = if interval <= LONGEST_INTERVAL {
        goal_reached_and_clean
    } else {
        goal_reached
    };
    simulation.log.note("rest     no more faults");
    loop {
        // The check of the goal is more expensive than a turn of the world.
        for _ in 0..10 {
            simulation.pass(TURN).await;
            actions.carry_out_due(&mut simulation.world);
        }
        let now = simulation.log.now();
        correct(simulation);
        for block in braked(&simulation.world) {
            simulation.world.release_brake(&block);
        }
        match reached(&simulation.world) {
            Ok(()) if now >= LENGTH => break,
            Ok(()) => {}
            Err(missing) if now >= limit => {
                return Err(format!("the goal was not reached: {missing}"));
            }
            Err(_) => {}
        }
    }
    // The goal is reached. What is left to clean up has the same time limit.
    let silence = interval.min(LONGEST_INTERVAL) * 3 + Duration::from_secs(15);
    loop {
        let (sequence, sent) = (simulation.api.requests(), simulation.cloud.sent());
        let until = simulation.log.now() + silence;
        while simulation.log.now() < until {
            simulation.pass(TURN).await;
        }
        reached(&simulation.world)
            .map_err(|missing| format!("the goal was reached and then lost: {missing}"))?;
        let written = written_since(&simulation.api, &simulation.cloud, sequence, sent);
        if written.is_empty() {
            return Ok(());
        }
        if simulation.log.now() >= limit {
            return Err(format!(
                "the goal is reached, and there are more writes: {}",
                written.join("\n  ")
            ));
        }
    }
}
