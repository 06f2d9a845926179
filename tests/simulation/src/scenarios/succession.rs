//! Holders change often, while the connections to the API server and to EC2 have no faults. So the next holder can
//! be predicted, and each holder keeps its address.

use std::time::Duration;

use super::Simulation;
use super::actions::{Actions, PUBLIC};
use super::settle::settle;
use super::setup::{TURN, run_until, wait_for_goal};
use super::storm::RANGE;
use crate::world::{Health, Kind, Pod};

/// The time until each write is received by all processes.
pub(super) const NEWS: Duration = Duration::from_secs(5);
/// The time limit of the start.
const START: Duration = Duration::from_mins(3);
/// The number of events.
const ROUNDS: u32 = 9;
/// A silent machine is then tainted (40 s), and its pods are not evicted yet (70 s).
const MARKED: Duration = Duration::from_secs(47);

/// Creates five machines, two Deployments with a waiting pod each, and four workloads that use pod names again.
async fn set_up(simulation: &mut Simulation) -> Result<(), String> {
    for name in ["node-a", "node-b", "node-c", "node-d", "node-e"] {
        simulation.world.join(name);
    }
    simulation.world.make_block(PUBLIC, RANGE);
    let kinds = [
        (Kind::Rolling, 2),
        (Kind::Rolling, 2),
        (Kind::Stateful, 1),
        (Kind::Stateful, 1),
        (Kind::Stateful, 1),
        (Kind::Recreate, 1),
    ];
    for (number, (kind, replicas)) in kinds.into_iter().enumerate() {
        let (name, reassign) = (format!("ip-{number}"), simulation.chance.one_in(2));
        simulation.world.want(&name, PUBLIC, None, reassign);
        let app = format!("app-{number}");
        simulation.world.deploy(&app, kind, &name, replicas);
    }
    simulation.replicas.start_all();
    wait_for_goal(simulation, START)
        .await
        .map_err(|missing| format!("the goal was not reached after the start: {missing}"))
}

/// Runs the scenario.
pub(super) async fn run(simulation: &mut Simulation, seed: u64) -> Result<(), String> {
    set_up(simulation).await?;
    for _ in 0..ROUNDS {
        let length = simulation.chance.millis(5000, 40_000);
        run_until(simulation, simulation.log.now() + length).await;
        match simulation.chance.between(0, 12) {
            0..=2 => again(simulation),
            3..=5 => cut_off(simulation).await,
            6 | 7 => unlabel(simulation),
            8 => simulation.world.roll_out(0, false),
            9 => fall_silent(simulation),
            10 => leave(simulation).await,
            _ => simulation.api.end_watches(),
        }
    }
    run_until(simulation, simulation.log.now() + MARKED).await;
    let mut actions = Actions::new(seed);
    actions.heal(&mut simulation.world);
    simulation.replicas.start_all();
    settle(simulation, &mut actions).await
}

fn kind(simulation: &Simulation, pod: &Pod) -> Kind {
    simulation.world.workloads[pod.workload].kind
}

/// A pod with an address is deleted, and a pod with the same name is created at once.
fn again(simulation: &mut Simulation) {
    let mut there = simulation.world.holders();
    there.retain(|(_, pod)| kind(simulation, pod) == Kind::Stateful);
    if let Some((uid, _)) = simulation.chance.pick(&there) {
        let force = simulation.chance.one_in(2);
        simulation.world.delete_pod(uid, force);
        simulation
            .log
            .fault("world    a name is used again at once");
    }
}

/// The machine of a waiting pod is unreachable when the holder is deleted.
async fn cut_off(simulation: &mut Simulation) {
    let there = simulation.world.holders();
    let waiting = simulation.world.pods.iter().find_map(|(uid, pod)| {
        let (holder, before) = there
            .iter()
            .find(|(_, holder)| holder.workload == pod.workload)?;
        let apart = holder != uid && pod.counts() && before.counts() && before.node != pod.node;
        apart.then(|| (holder.clone(), pod.node.clone()))
    });
    let Some((holder, Some(node))) = waiting else {
        return;
    };
    simulation.world.set_health(&node, Health::Silent);
    run_until(simulation, simulation.log.now() + MARKED).await;
    simulation.world.delete_pod(&holder, false);
    run_until(simulation, simulation.log.now() + Duration::from_secs(30)).await;
    simulation.world.set_health(&node, |_| Health::Well);
}

/// The label of a pod with an address is removed.
fn unlabel(simulation: &mut Simulation) {
    let there = simulation.world.holders();
    if let Some((uid, _)) = simulation.chance.pick(&there) {
        simulation.world.unlabel(uid);
    }
}

/// The machine of a pod with an address is silent until the pod is evicted.
fn fall_silent(simulation: &mut Simulation) {
    let there = simulation.world.holders();
    let silent = |machine: &crate::world::Machine| machine.health != Health::Well;
    if simulation.world.machines.values().any(silent) {
        return;
    }
    if let Some((_, pod)) = simulation.chance.pick(&there)
        && let Some(node) = pod.node.clone()
    {
        simulation.world.set_health(&node, Health::Silent);
    }
}

/// The leader is killed, and starts again.
async fn leave(simulation: &mut Simulation) {
    simulation.replicas.kill(0).await;
    simulation.pass(TURN).await;
    simulation.replicas.start_all();
}
