//! A dozen IPs with one pod each: the start of several scenarios, and their common functions.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::Simulation;
use super::actions::PUBLIC;
use super::goal::goal_reached;
use super::storm::RANGE;
use crate::replicas::is_ours;
use crate::world::Kind;

/// The number of IPs. It is so small that one interface has room for all of them, for every random choice of nodes.
pub(super) const IPS: u8 = 12;
/// The interval of the turns of the world.
pub(super) const TURN: Duration = Duration::from_millis(500);
/// The time limit of the start.
const START: Duration = Duration::from_mins(3);

/// The status of each IP without its conditions: the holder, the address, the place and the previous places.
pub(super) type Claims = BTreeMap<String, Value>;

/// The name and the claim of an IP.
fn claim(ip: &Value) -> (String, Value) {
    let mut status = ip["status"].clone();
    if let Value::Object(fields) = &mut status {
        fields.remove("conditions");
    }
    let name = ip["metadata"]["name"].as_str().unwrap_or_default();
    (name.to_owned(), status)
}

pub(super) fn claims(simulation: &Simulation) -> Claims {
    let ips = simulation.world.cluster.list("ips");
    ips.iter().map(|ip| claim(ip)).collect()
}

/// The claims that Mooring has written since then and that differ from `before`.
pub(super) fn changed_since(simulation: &Simulation, sequence: u64, before: &Claims) -> Claims {
    let written = simulation
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

pub(super) async fn run_until(simulation: &mut Simulation, end: Duration) {
    while simulation.log.now() < end {
        simulation.pass(TURN).await;
    }
}

/// Waits until the goal is reached.
pub(super) async fn wait_for_goal(
    simulation: &mut Simulation,
    limit: Duration,
) -> Result<(), String> {
    let limit = simulation.log.now() + limit;
    loop {
        run_until(simulation, simulation.log.now() + Duration::from_secs(2)).await;
        match goal_reached(&simulation.world) {
            Ok(()) => return Ok(()),
            Err(missing) if simulation.log.now() >= limit => return Err(missing),
            Err(_) => {}
        }
    }
}

/// Creates five machines, and a workload for each IP: three Deployments, the others `StatefulSet`s.
pub(super) async fn set_up(simulation: &mut Simulation) -> Result<(), String> {
    for name in ["node-a", "node-b", "node-c", "node-d", "node-e"] {
        simulation.world.join(name);
    }
    simulation.world.make_block(PUBLIC, RANGE);
    for number in 0..IPS {
        let (name, reassign) = (format!("ip-{number}"), simulation.chance.one_in(2));
        simulation.world.want(&name, PUBLIC, None, reassign);
        let kind = if number < 3 {
            Kind::Rolling
        } else {
            Kind::Stateful
        };
        simulation
            .world
            .deploy(&format!("app-{number}"), kind, &name, 1);
    }
    simulation.replicas.start_all();
    wait_for_goal(simulation, START)
        .await
        .map_err(|missing| format!("the goal was not reached after the start: {missing}"))
}
