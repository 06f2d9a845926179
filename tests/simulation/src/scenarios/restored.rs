//! The API server is restored from a backup without pods. A dozen holders are missing: no address is released until a
//! person allows it, the pods are seen again, or successors replace them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Simulation;
use super::actions::Actions;
use super::goal::{braked, goal_reached};
use super::settle::settle;
use super::setup::{Claims, IPS, changed_since, claims, run_until, set_up, wait_for_goal};
use crate::api_server::Snapshot;
use crate::judge::Restored;
use crate::world::Pod;

/// The minimum and the maximum age of the backup.
const AGE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_mins(40));
/// A list without the pods (every 60 s at least), a read of each pod, and the status of the block.
const TRIPPED: Duration = Duration::from_mins(2);
/// Ten times the wait before a release because of a missing pod.
const HELD: Duration = Duration::from_mins(10);
/// A dozen detaches or moves with a token bucket of five per second, and an inventory.
const LET_GO: Duration = Duration::from_mins(2);

/// How the brake is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    /// Another backup has the pods.
    SeenAgain,
    /// A person confirms that the pods are gone.
    Manual,
    /// The controllers of the workloads create successors.
    Successors,
}

/// Restores a backup, and adds it to the input of the judge.
fn restore(simulation: &mut Simulation, backup: Snapshot) {
    simulation.restored.push(Restored {
        // Later than all former requests, and earlier than all following requests.
        moment: simulation.log.moment(),
        pods: backup.list("pods"),
        ips: backup.list("ips"),
    });
    simulation.api.restore(backup);
    simulation.log.fault("trouble  a backup is restored");
}

/// All secondary addresses in EC2, with their interfaces.
fn attached(simulation: &Simulation) -> BTreeMap<String, String> {
    simulation.cloud.look(|ec2| {
        let interfaces = ec2.interfaces().flat_map(|interface| {
            let id = interface.id.to_string();
            let addresses = interface.secondary.iter();
            addresses.map(move |address| (address.to_string(), id.clone()))
        });
        interfaces.collect()
    })
}

/// The state that must not change while the brake is engaged.
struct Held {
    claims: Claims,
    attached: BTreeMap<String, String>,
    sent: usize,
    sequence: u64,
}

impl Held {
    fn now(simulation: &Simulation) -> Self {
        Self {
            claims: claims(simulation),
            attached: attached(simulation),
            sent: simulation.cloud.sent(),
            sequence: simulation.api.requests(),
        }
    }

    /// Fails if the state has changed.
    fn check_unchanged(&self, simulation: &Simulation) -> Result<(), String> {
        let changed = changed_since(simulation, self.sequence, &self.claims);
        let sent = simulation.cloud.calls().split_off(self.sent);
        if changed.is_empty() && sent.is_empty() && self.attached == attached(simulation) {
            return Ok(());
        }
        Err(format!(
            "the pods vanished, and then claims {changed:?} were written and calls {sent:?} were sent"
        ))
    }
}

/// The brake is engaged, and an Event says how to release it.
fn check_brake(simulation: &Simulation) -> Result<(), String> {
    if braked(&simulation.world) != ["public"] {
        return Err("the pods vanished, and the brake is not engaged".to_owned());
    }
    let events = simulation.world.cluster.list("events");
    let named = events.iter().any(|event| {
        let note = event["note"].as_str().unwrap_or_default();
        event["reason"] == "BrakeEngaged" && note.contains("release-brake")
    });
    if named {
        Ok(())
    } else {
        Err("the brake is engaged, and no Event has the remedy".to_owned())
    }
}

/// Runs the scenario.
pub(super) async fn run(simulation: &mut Simulation, seed: u64) -> Result<(), String> {
    set_up(simulation).await?;
    let backup = simulation.api.snapshot();
    let (from, to) = AGE;
    let age = if simulation.chance.one_in(2) {
        from
    } else {
        to
    };
    run_until(simulation, simulation.log.now() + age).await;
    goal_reached(&simulation.world)
        .map_err(|missing| format!("the goal was reached and then lost: {missing}"))?;

    // No pods are created before the control plane is complete.
    simulation.world.frozen = true;
    let pods: BTreeMap<String, Pod> = std::mem::take(&mut simulation.world.pods);
    let held = Held::now(simulation);
    let mut lost = backup.clone().without("pods");
    let ahead = simulation.chance.one_in(2);
    if ahead {
        lost = lost.ahead(simulation.api.version());
    }
    restore(simulation, lost);
    // A new process has no earlier list.
    if simulation.chance.one_in(2) {
        simulation.replicas.kill(0).await;
        simulation.replicas.start_all();
    }
    run_until(simulation, simulation.log.now() + TRIPPED).await;
    check_brake(simulation)?;
    run_until(simulation, simulation.log.now() + HELD).await;
    check_brake(simulation)?;
    held.check_unchanged(simulation)?;

    let recoveries = [Recovery::SeenAgain, Recovery::Manual, Recovery::Successors];
    let recovery = *simulation.chance.pick(&recoveries).expect("three");
    simulation
        .log
        .note(format!("rest     recovery: {recovery:?}"));
    match recovery {
        Recovery::SeenAgain => {
            restore(simulation, backup.ahead(simulation.api.version()));
            simulation.world.pods = pods;
            simulation.world.frozen = false;
            run_until(simulation, simulation.log.now() + LET_GO).await;
            goal_reached(&simulation.world)
                .map_err(|missing| format!("the pods are seen again: {missing}"))?;
            held.check_unchanged(simulation)?;
            if !braked(&simulation.world).is_empty() {
                return Err("the pods are seen again, and the brake is still engaged".to_owned());
            }
        }
        Recovery::Manual => {
            simulation.world.release_brake("public");
            run_until(simulation, simulation.log.now() + LET_GO).await;
            let kept = attached(simulation);
            if !kept.is_empty() {
                return Err(format!(
                    "a person confirmed that the pods are gone, and {kept:?} is still attached"
                ));
            }
            let calls = simulation.cloud.calls();
            let released = calls.iter().skip(held.sent);
            let addresses: usize = released.map(|call| call.addresses.len()).sum();
            if addresses != usize::from(IPS) {
                return Err("each address must be released by one call".to_owned());
            }
            simulation.world.frozen = false;
        }
        Recovery::Successors => {
            simulation.world.frozen = false;
            wait_for_goal(simulation, LET_GO).await.map_err(|missing| {
                format!("successors wait although they replace the holders: {missing}")
            })?;
        }
    }
    settle(simulation, &mut Actions::new(seed)).await
}
