//! EC2 is away for half an hour. Whoever has an address keeps it; what users wish for meanwhile waits, and
//! nothing piles up; when EC2 is back, everything is in place as soon as its token bucket lets it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::Stage;
use super::deeds::Deeds;
use super::rest::rest;
use super::storm::RANGE;
use super::wish::as_wished;
use crate::world::{Health, Kind};

/// How many IPs there are.
const IPS: u8 = 20;
const TURN: Duration = Duration::from_millis(500);
/// So long it is away.
const AWAY: Duration = Duration::from_mins(30);
/// The start, until everything is in place.
const START: Duration = Duration::from_mins(3);
/// The longest pause between two tries (30 s), a look at EC2 (2 s) and its repetition (10 s), and 20 moves of two
/// calls from a bucket that gives five a second.
const BACK: Duration = Duration::from_mins(1);

/// Who holds what, and where: as the status says it.
type Claims = BTreeMap<String, (Value, Value, Value)>;

fn claims(stage: &Stage) -> Claims {
    let ips = stage.world.cluster.list("ips").into_iter();
    ips.map(|ip| {
        let status = &ip["status"];
        let claim = (
            status["podUID"].clone(),
            status["networkInterfaceID"].clone(),
            status["assigned"].clone(),
        );
        (ip["metadata"]["name"].to_string(), claim)
    })
    .collect()
}

async fn until(stage: &mut Stage, end: Duration) {
    while stage.log.now() < end {
        stage.pass(TURN).await;
    }
}

/// Waits until everything is as it is wished.
async fn in_place(stage: &mut Stage, limit: Duration) -> Result<(), String> {
    let limit = stage.log.now() + limit;
    loop {
        until(stage, stage.log.now() + Duration::from_secs(2)).await;
        match as_wished(&stage.world) {
            Ok(()) => return Ok(()),
            Err(missing) if stage.log.now() >= limit => return Err(missing),
            Err(_) => {}
        }
    }
}

/// What is asked of the API server and of EC2 in a minute, and how many calls wait for an answer at once.
async fn a_minute(stage: &mut Stage) -> (usize, usize) {
    let (sequence, end) = (
        stage.api.requests(),
        stage.log.now() + Duration::from_mins(1),
    );
    let mut waiting = 0;
    while stage.log.now() < end {
        stage.pass(TURN).await;
        waiting = waiting.max(stage.cloud.waiting());
    }
    (stage.api.history_since(sequence).len(), waiting)
}

/// Plays it.
pub(super) async fn play(stage: &mut Stage, seed: u64) -> Result<(), String> {
    for name in ["node-a", "node-b", "node-c", "node-d"] {
        stage.world.join(name);
    }
    stage.world.make_block("public", RANGE.0, 27);
    for number in 0..IPS {
        let (name, reassign) = (format!("ip-{number}"), stage.chance.one_in(2));
        stage.world.want(&name, "public", None, reassign);
        let kind = if number < 3 {
            Kind::Rolling
        } else {
            Kind::Stateful
        };
        stage.world.deploy(&format!("app-{number}"), kind, &name, 1);
    }
    stage.replicas.start_all();
    in_place(stage, START)
        .await
        .map_err(|missing| format!("it was never in place: {missing}"))?;

    stage.troubles.cloud_away(true);
    let before = claims(stage);
    let (begun, end) = (stage.log.now(), stage.log.now() + AWAY);
    until(stage, begun + Duration::from_mins(3)).await;
    let early = a_minute(stage).await;
    // Processes come and go, kubelets restart: nobody has asked for anything.
    stage.replicas.kill(0).await;
    until(stage, begun + Duration::from_mins(5)).await;
    stage.replicas.start_all();
    stage
        .world
        .blink("node-a", stage.log.now() + Duration::from_secs(20));
    until(stage, begun + Duration::from_mins(15)).await;
    let after = claims(stage);
    if before != after {
        return Err(format!(
            "nobody asked for it, and {before:?} became {after:?}"
        ));
    }
    // Now users ask for something: it waits.
    let (rolled, touched) = (["ip-0", "ip-1", "ip-2"], ["ip-3", "ip-4", "ip-5"]);
    for index in 0..rolled.len() {
        stage.world.roll_out(index, false);
    }
    for name in touched {
        stage.world.restart_pods_of(name);
    }
    stage.world.set_health("node-b", Health::Silent);
    until(stage, end.saturating_sub(Duration::from_mins(2))).await;
    let late = a_minute(stage).await;
    let asked = |name: &String| {
        let name = name.trim_matches('"');
        rolled.contains(&name) || touched.contains(&name)
    };
    let changed: Vec<String> = claims(stage)
        .into_iter()
        .filter(|(name, claim)| !asked(name) && before.get(name) != Some(claim))
        .map(|(name, claim)| format!("{name} is {claim:?}"))
        .collect();
    // The machine that is out of reach was no user's wish; whoever was there keeps it all the same.
    if !changed.is_empty() {
        return Err(format!("nobody asked for it, and {}", changed.join(", ")));
    }
    until(stage, end).await;
    let ((early_asked, early_waiting), (late_asked, late_waiting)) = (early, late);
    if late_waiting > early_waiting.max(4) * 2 || late_asked > early_asked * 2 + 200 {
        return Err(format!(
            "something grows: in a minute {early_asked} requests and {early_waiting} calls at once in the beginning, \
             {late_asked} and {late_waiting} at the end"
        ));
    }
    stage.troubles.cloud_away(false);
    stage.world.set_health("node-b", |_| Health::Well);
    in_place(stage, BACK).await.map_err(|missing| {
        format!("EC2 is back for {BACK:?}, and not everything is in place: {missing}")
    })?;
    rest(stage, &mut Deeds::new(seed, RANGE)).await
}
