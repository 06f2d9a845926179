//! Two hundred IPs in two subnets, each with a pod: they are attached, a Node comes that names another's instance, a
//! machine ends, pods are rolled out, whoever leads is killed.

use std::time::Duration;

use super::Stage;
use super::crowd::{in_place, until};
use super::deeds::{Deeds, PUBLIC};
use super::rest::rest;
use crate::world::{Health, Kind, Range};

/// In each of the two blocks.
const IPS: u32 = 100;
/// Two hundred Assigns from a bucket that gives five a second, and what stands between.
const START: Duration = Duration::from_mins(4);
/// The Node of a machine that ended is there for a while, its pods are made anew, and get their addresses.
const MOVED: Duration = Duration::from_mins(5);

/// Plays it.
pub(super) async fn play(stage: &mut Stage, seed: u64) -> Result<(), String> {
    for name in ["node-a", "node-b", "node-c", "node-d", "node-e", "node-f"] {
        stage.world.join(name);
    }
    let range = |third| Range {
        third,
        first: 128,
        prefix: 25,
    };
    for (block, third) in [(PUBLIC, 1), ("second", 2)] {
        stage.world.make_block(block, range(third));
        for number in 0..IPS {
            let name = format!("{block}-{number}");
            let reassign = stage.chance.one_in(2);
            stage.world.want(&name, block, None, reassign);
            let kind = if number.is_multiple_of(5) {
                Kind::Rolling
            } else {
                Kind::Stateful
            };
            stage.world.deploy(&format!("app-{name}"), kind, &name, 1);
        }
    }
    stage.replicas.start_all();
    in_place(stage, START)
        .await
        .map_err(|missing| format!("it was never in place: {missing}"))?;
    let took = stage.log.now();
    stage
        .log
        .say(format!("rest     all is in place after {took:?}"));
    stage.world.forge("forged", "node-b");
    stage.world.set_health("node-a", Health::Gone);
    for index in (0..stage.world.workloads.len()).step_by(5).take(20) {
        stage.world.roll_out(index, false);
    }
    until(stage, stage.log.now() + Duration::from_secs(20)).await;
    stage.replicas.kill(0).await;
    until(stage, stage.log.now() + Duration::from_secs(20)).await;
    stage.replicas.start_all();
    in_place(stage, MOVED).await.map_err(|missing| {
        format!("a machine ended {MOVED:?} ago, and not everything is in place: {missing}")
    })?;
    rest(stage, &mut Deeds::new(seed)).await
}
