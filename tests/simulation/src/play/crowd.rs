//! A dozen IPs with a pod each, all in place: what the long scenes begin with.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::Stage;
use super::deeds::PUBLIC;
use super::storm::RANGE;
use super::wish::as_wished;
use crate::replicas::is_ours;
use crate::world::Kind;

/// How many IPs there are: so few that chance, which chooses a pod's node, never asks for more on one interface
/// than there is room for.
pub(super) const IPS: u8 = 12;
/// How often the world looks around.
pub(super) const TURN: Duration = Duration::from_millis(500);
/// The start, until everything is in place.
const START: Duration = Duration::from_mins(3);

/// What the status of each IP says, its conditions aside: who has which address, where, and where it was.
pub(super) type Claims = BTreeMap<String, Value>;

/// As an IP tells it.
fn claim(ip: &Value) -> (String, Value) {
    let mut status = ip["status"].clone();
    if let Value::Object(fields) = &mut status {
        fields.remove("conditions");
    }
    let name = ip["metadata"]["name"].as_str().unwrap_or_default();
    (name.to_owned(), status)
}

pub(super) fn claims(stage: &Stage) -> Claims {
    let ips = stage.world.cluster.list("ips");
    ips.iter().map(|ip| claim(ip)).collect()
}

/// Every claim that was written since then and is not as it was before.
pub(super) fn changed_since(stage: &Stage, sequence: u64, before: &Claims) -> Claims {
    let written = stage
        .api
        .history_since(sequence)
        .into_iter()
        .filter(|entry| {
            let request = &entry.request;
            is_ours(&request.user) && request.verb.writes() && request.resource == "ips"
        });
    written
        .filter_map(|entry| entry.outcome.filter(|outcome| outcome.code < 300))
        .map(|outcome| claim(&outcome.body))
        .filter(|(name, claim)| before.get(name) != Some(claim))
        .collect()
}

pub(super) async fn until(stage: &mut Stage, end: Duration) {
    while stage.log.now() < end {
        stage.pass(TURN).await;
    }
}

/// Waits until everything is as it is wished.
pub(super) async fn in_place(stage: &mut Stage, limit: Duration) -> Result<(), String> {
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

/// Five machines, and a workload for each IP: three Deployments, the rest `StatefulSet`s.
pub(super) async fn gather(stage: &mut Stage) -> Result<(), String> {
    for name in ["node-a", "node-b", "node-c", "node-d", "node-e"] {
        stage.world.join(name);
    }
    stage.world.make_block(PUBLIC, RANGE);
    for number in 0..IPS {
        let (name, reassign) = (format!("ip-{number}"), stage.chance.one_in(2));
        stage.world.want(&name, PUBLIC, None, reassign);
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
        .map_err(|missing| format!("it was never in place: {missing}"))
}
