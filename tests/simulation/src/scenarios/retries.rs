//! Requests fail, or another client reverts them. The regular inventory comes once an hour, and no watch begins again
//! with a list, so that only a timer starts the next try.

use std::time::Duration;

use super::Simulation;
use super::setup::{self, run_until, wait_for_goal};
use crate::api_server::Reversion;

/// The number of rounds.
const ROUNDS: u64 = 18;
/// The time limit after a round: the longest wait after a failure (30 s), a grace period of a pod (30 s), and the steps
/// of some moves.
const RECOVERY: Duration = Duration::from_mins(2);

/// Runs the scenario.
pub(super) async fn run(simulation: &mut Simulation) -> Result<(), String> {
    setup::set_up(simulation).await?;
    for round in 1..=ROUNDS {
        match simulation.chance.between(0, 6) {
            0 => simulation
                .faults
                .revert_status_of("pods", Reversion::Webhook),
            1 => simulation
                .faults
                .revert_status_of("pods", Reversion::Controller),
            2 => simulation
                .faults
                .revert_status_of("ips", Reversion::Webhook),
            3 => simulation.faults.set_ec2_unreachable(true),
            _ => simulation.faults.frequent_failures(),
        }
        move_pods(simulation);
        let length = simulation.chance.millis(10_000, 60_000);
        run_until(simulation, simulation.log.now() + length).await;
        simulation.faults.end();
        wait_for_goal(simulation, RECOVERY).await.map_err(|missing| {
            format!("{RECOVERY:?} after the faults of round {round}, the goal is not reached: {missing}")
        })?;
    }
    Ok(())
}

/// Deletes some pods with an address, and rolls a Deployment out.
fn move_pods(simulation: &mut Simulation) {
    let holders = simulation.world.holders();
    for (uid, _) in &holders {
        if simulation.chance.one_in(4) {
            let force = simulation.chance.one_in(2);
            simulation.world.delete_pod(uid, force);
        }
    }
    simulation.world.roll_out(0, false);
}
