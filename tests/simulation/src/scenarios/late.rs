//! Calls are later, and a Describe lags longer, than the limits that Mooring relies on. Pods may then not be ready,
//! and a person may have to take an address off. But two pods never have one address, and no foreign address is
//! taken. When EC2 is within its limits again, the goal is reached.

use std::time::Duration;

use ec2_emulator::wire::Action;

use super::Simulation;
use super::actions::Actions;
use super::settle::settle;
use super::setup::{TURN, run_until};
use super::storm::set_up;
use crate::cloud::Call;

/// The time of the start: most addresses are then attached.
const START: Duration = Duration::from_secs(45);
/// The time that EC2 is beyond its limits.
const BEYOND: Duration = Duration::from_mins(5);

/// Twice the limit that Mooring relies on: an inventory is taken in between.
const LATE: Duration = Duration::from_secs(20);
/// The metric that counts it.
const EXCEEDED: &str = "mooring_describe_lag_exceeded_total";

/// Runs the scenario.
pub(super) async fn run(simulation: &mut Simulation, seed: u64) -> Result<(), String> {
    let mut actions = Actions::new(seed);
    set_up(simulation, &mut actions);
    simulation.replicas.start_all();
    run_until(simulation, START).await;
    simulation.beyond_bounds = true;
    let lag = simulation.faults.beyond_bounds(&mut simulation.chance);
    let (begun, mut next) = (simulation.log.now(), simulation.log.now());
    while simulation.log.now() < begun + BEYOND {
        simulation.pass(TURN).await;
        actions.carry_out_due(&mut simulation.world);
        let now = simulation.log.now();
        if now >= next {
            next = now + simulation.chance.millis(3000, 20_000);
            actions.act(&mut simulation.world);
        }
    }
    let ended = simulation.log.now().saturating_sub(lag);
    simulation.faults.end();
    noticed(simulation, begun, ended)?;
    // Calls that were sent while EC2 was beyond its limits are still executed.
    run_until(simulation, simulation.log.now() + crate::cloud::BEYOND).await;
    actions.heal(&mut simulation.world);
    settle(simulation, &mut actions).await
}

/// Fails if a Describe did not show an Assign for this long, and no process has counted it.
fn noticed(simulation: &Simulation, from: Duration, to: Duration) -> Result<(), String> {
    let calls = simulation.cloud.calls();
    let unseen = calls.iter().find(|call| {
        let answered = call.answered.map(|moment| moment.at);
        let Some(answered) = answered.filter(|at| (from..to).contains(at)) else {
            return false;
        };
        // Another call with this address at nearly the same time may have undone it.
        let alone = |other: &&Call| {
            let soon = other.sent.at + LATE > answered && other.sent.at < answered + LATE;
            let landed = other.executed.iter().any(|execution| {
                execution.moment.at + LATE > answered && execution.moment.at < answered + LATE
            });
            other.addresses == call.addresses && (soon || landed)
        };
        let effective = call.executed.len() == 1 && call.executed[0].effective;
        call.action == Action::AssignPrivateIpAddresses
            && effective
            && calls.iter().filter(alone).count() == 1
    });
    let Some(unseen) = unseen else { return Ok(()) };
    let noticed = simulation.replicas.metrics().any(|metrics| {
        let text = metrics.encode().unwrap_or_default();
        let mut lines = text.lines();
        lines.any(|line| {
            let count = line.strip_prefix(EXCEEDED).map(str::trim);
            count.is_some_and(|count| count != "0")
        })
    });
    if noticed {
        simulation.log.note("rest     the lag was noticed");
        return Ok(());
    }
    Err(format!(
        "a Describe did not show {unseen:?}, and no process has counted it"
    ))
}
