//! EC2 is unreachable for half an hour. Holders keep their addresses. New requests of users wait, and no queue grows.
//! When EC2 is reachable again, the goal is reached as fast as the token bucket allows.

use std::time::Duration;

use super::Simulation;
use super::actions::Actions;
use super::settle::settle;
use super::setup::{TURN, changed_since, claims, run_until, set_up, wait_for_goal};
use crate::world::Health;

/// The length of the outage.
const AWAY: Duration = Duration::from_mins(30);
/// The longest backoff (30 s), an inventory (2 s) and the next one (10 s), and a dozen moves of two calls with a
/// token bucket of five per second.
const BACK: Duration = Duration::from_mins(1);

/// After two intervals and this time an inventory is too old.
const TOO_OLD: Duration = Duration::from_secs(2);

/// The load within a minute.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Requests to the API server, and calls of EC2.
    requests: usize,
    /// The maximum number of calls that waited for an answer at the same time.
    waiting: usize,
    /// The maximum number of tasks at the same time, of Mooring and of the simulation.
    tasks: usize,
}

impl Load {
    async fn of_a_minute(simulation: &mut Simulation) -> Self {
        let runtime = tokio::runtime::Handle::current();
        let requests = |simulation: &Simulation| {
            let requests = usize::try_from(simulation.api.requests()).unwrap_or(usize::MAX);
            requests + simulation.cloud.begun()
        };
        let (before, end) = (
            requests(simulation),
            simulation.log.now() + Duration::from_mins(1),
        );
        let (mut waiting, mut tasks) = (0, 0);
        while simulation.log.now() < end {
            simulation.pass(TURN).await;
            waiting = waiting.max(simulation.cloud.waiting());
            tasks = tasks.max(runtime.metrics().num_alive_tasks());
        }
        Self {
            requests: requests(simulation) - before,
            waiting,
            tasks,
        }
    }

    /// Fails if the load is higher than `earlier`, with some tolerance. There was no new request of a user in between.
    fn no_more_than(self, earlier: Self) -> Result<(), String> {
        let grows = self.requests > earlier.requests * 5 / 4 + 20
            || self.waiting > earlier.waiting + 2
            || self.tasks > earlier.tasks + 5;
        if grows {
            return Err(format!("the load grows: {earlier:?} became {self:?}"));
        }
        Ok(())
    }
}

/// Runs the scenario.
pub(super) async fn run(simulation: &mut Simulation, seed: u64) -> Result<(), String> {
    set_up(simulation).await?;
    simulation.faults.set_ec2_unreachable(true);
    let before = claims(simulation);
    let sequence = simulation.api.requests();
    let (begun, end) = (simulation.log.now(), simulation.log.now() + AWAY);
    // What the leader knows of EC2 is too old for a claim now (R1.9, R1.11). It still leads: with short intervals it
    // waits for 60 s before it releases the Lease.
    let interval = simulation.replicas.settings().interval;
    run_until(simulation, begun + interval * 2 + TOO_OLD).await;
    simulation.world.roll_out(0, false);
    run_until(simulation, begun + Duration::from_mins(3)).await;
    let early = Load::of_a_minute(simulation).await;
    // Processes and kubelets restart; there is no new request of a user. A process that starts now has no facts about
    // EC2; the other one has old facts.
    if simulation.chance.one_in(2) {
        simulation.replicas.kill(0).await;
    }
    run_until(simulation, begun + Duration::from_mins(5)).await;
    simulation.replicas.start_all();
    simulation
        .world
        .blink("node-a", simulation.log.now() + Duration::from_secs(20));
    run_until(simulation, begun + Duration::from_mins(14)).await;
    let later = Load::of_a_minute(simulation).await;
    later.no_more_than(early)?;
    let changed = changed_since(simulation, sequence, &before);
    if !changed.is_empty() {
        return Err(format!(
            "claims changed without EC2: {before:?} became {changed:?}"
        ));
    }
    // New requests of users must wait.
    let (rolled, restarted) = (["ip-0", "ip-1", "ip-2"], ["ip-3", "ip-4", "ip-5"]);
    for index in 0..rolled.len() {
        simulation.world.roll_out(index, false);
    }
    for name in restarted {
        simulation.world.restart_pods_of(name);
    }
    simulation.world.set_health("node-b", Health::Silent);
    // The pods of the silent machine are evicted after 70 s; new pods are created and scheduled.
    run_until(simulation, begun + Duration::from_mins(20)).await;
    let early = Load::of_a_minute(simulation).await;
    run_until(simulation, end.saturating_sub(Duration::from_mins(1))).await;
    let late = Load::of_a_minute(simulation).await;
    late.no_more_than(early)?;
    let mut changed = changed_since(simulation, sequence, &before);
    // For pods that are gone, the end may be written. Every other holder keeps its address, also on the unreachable
    // machine and during a rollout: without EC2 no address moves.
    changed.retain(|name, _| !restarted.contains(&name.as_str()));
    if !changed.is_empty() {
        return Err(format!("claims changed without a reason: {changed:?}"));
    }
    let sent = simulation.cloud.sent();
    simulation.faults.set_ec2_unreachable(false);
    simulation.world.set_health("node-b", |_| Health::Well);
    let back = simulation.log.now();
    wait_for_goal(simulation, BACK).await.map_err(|missing| {
        format!("EC2 is reachable for {BACK:?}, and the goal is not reached: {missing}")
    })?;
    let took = simulation.log.now().saturating_sub(back);
    let calls = simulation.cloud.sent() - sent;
    simulation.log.note(format!(
        "rest     the goal is reached after {took:?} and {calls} calls"
    ));
    settle(simulation, &mut Actions::new(seed)).await
}
