//! Holders come and go, one soon after another, while the ways to the API server and to EC2 are well: who gets an
//! address then can be told, and whoever has it keeps it.

use std::time::Duration;

use super::Stage;
use super::crowd::{TURN, in_place, until};
use super::deeds::{Deeds, PUBLIC};
use super::rest::rest;
use super::storm::RANGE;
use crate::world::{Health, Kind, Pod};

/// Everybody hears of what was written by then.
pub(super) const NEWS: Duration = Duration::from_secs(5);
/// The start, until everything is in place.
const START: Duration = Duration::from_mins(3);
/// So many things happen.
const ROUNDS: u32 = 9;
/// A machine that is silent is marked by then (40 s), and its pods are not told to go yet (70 s).
const MARKED: Duration = Duration::from_secs(47);

/// Five machines; two Deployments with a pod in waiting each, and four names that are used again.
async fn gather(stage: &mut Stage) -> Result<(), String> {
    for name in ["node-a", "node-b", "node-c", "node-d", "node-e"] {
        stage.world.join(name);
    }
    stage.world.make_block(PUBLIC, RANGE);
    let kinds = [
        (Kind::Rolling, 2),
        (Kind::Rolling, 2),
        (Kind::Stateful, 1),
        (Kind::Stateful, 1),
        (Kind::Stateful, 1),
        (Kind::Recreate, 1),
    ];
    for (number, (kind, replicas)) in kinds.into_iter().enumerate() {
        let (name, reassign) = (format!("ip-{number}"), stage.chance.one_in(2));
        stage.world.want(&name, PUBLIC, None, reassign);
        let app = format!("app-{number}");
        stage.world.deploy(&app, kind, &name, replicas);
    }
    stage.replicas.start_all();
    in_place(stage, START)
        .await
        .map_err(|missing| format!("it was never in place: {missing}"))
}

/// Plays it.
pub(super) async fn play(stage: &mut Stage, seed: u64) -> Result<(), String> {
    gather(stage).await?;
    for _ in 0..ROUNDS {
        let length = stage.chance.millis(5000, 40_000);
        until(stage, stage.log.now() + length).await;
        match stage.chance.between(0, 12) {
            0..=2 => again(stage),
            3..=5 => cut_off(stage).await,
            6 | 7 => unlabel(stage),
            8 => stage.world.roll_out(0, false),
            9 => fall_silent(stage),
            10 => leave(stage).await,
            _ => stage.api.end_watches(),
        }
    }
    until(stage, stage.log.now() + MARKED).await;
    let mut deeds = Deeds::new(seed);
    deeds.heal(&mut stage.world);
    stage.replicas.start_all();
    rest(stage, &mut deeds).await
}

fn kind(stage: &Stage, pod: &Pod) -> Kind {
    stage.world.workloads[pod.workload].kind
}

/// A pod that has an address goes, and at once there is another of its name.
fn again(stage: &mut Stage) {
    let mut there = stage.world.holders();
    there.retain(|(_, pod)| kind(stage, pod) == Kind::Stateful);
    if let Some((uid, _)) = stage.chance.pick(&there) {
        let force = stage.chance.one_in(2);
        stage.world.delete_pod(uid, force);
        stage.log.fault("world    a name is used again at once");
    }
}

/// The machine of a pod that waits is out of reach when the pod that it waits for goes.
async fn cut_off(stage: &mut Stage) {
    let there = stage.world.holders();
    let waiting = stage.world.pods.iter().find_map(|(uid, pod)| {
        let (holder, before) = there
            .iter()
            .find(|(_, holder)| holder.workload == pod.workload)?;
        let apart = holder != uid && pod.counts() && before.counts() && before.node != pod.node;
        apart.then(|| (holder.clone(), pod.node.clone()))
    });
    let Some((holder, Some(node))) = waiting else {
        return;
    };
    stage.world.set_health(&node, Health::Silent);
    until(stage, stage.log.now() + MARKED).await;
    stage.world.delete_pod(&holder, false);
    until(stage, stage.log.now() + Duration::from_secs(30)).await;
    stage.world.set_health(&node, |_| Health::Well);
}

/// Somebody takes the label off a pod that has an address.
fn unlabel(stage: &mut Stage) {
    let there = stage.world.holders();
    if let Some((uid, _)) = stage.chance.pick(&there) {
        stage.world.unlabel(uid);
    }
}

/// The machine of a pod that has an address falls silent, for as long as it takes until the pod is told to go.
fn fall_silent(stage: &mut Stage) {
    let there = stage.world.holders();
    let silent = |machine: &crate::world::Machine| machine.health != Health::Well;
    if stage.world.machines.values().any(silent) {
        return;
    }
    if let Some((_, pod)) = stage.chance.pick(&there)
        && let Some(node) = pod.node.clone()
    {
        stage.world.set_health(&node, Health::Silent);
    }
}

/// Whoever leads is killed, and starts again.
async fn leave(stage: &mut Stage) {
    stage.replicas.kill(0).await;
    stage.pass(TURN).await;
    stage.replicas.start_all();
}
