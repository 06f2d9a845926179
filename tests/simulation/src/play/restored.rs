//! The API server is restored from a backup that has no pods. Of a dozen holders none is there: no address is
//! released for it, until a person says so, the pods are seen again, or others take their places.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Stage;
use super::crowd::{Claims, IPS, changed_since, claims, gather, in_place, until};
use super::deeds::Deeds;
use super::rest::rest;
use super::wish::{as_wished, braked};
use crate::api_server::Snapshot;
use crate::judge::Restored;
use crate::world::Pod;

/// The backup is so old at least, and at most.
const AGE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_mins(40));
/// A list that shows no pods (at most 60 s apart), a read of each, and the block's status.
const TRIPPED: Duration = Duration::from_mins(2);
/// Ten times as long as a release waits that is inferred from absence.
const HELD: Duration = Duration::from_mins(10);
/// A dozen detaches, or moves, from a bucket that gives five a second, and a look at EC2.
const LET_GO: Duration = Duration::from_mins(2);

/// What a backup is restored to, and how things go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WayOut {
    /// Another backup has the pods.
    SeenAgain,
    /// A person says that they are gone.
    Word,
    /// The workloads' controllers make others.
    Successors,
}

/// Goes back to a backup, and lets the judge know.
fn restore(stage: &mut Stage, backup: Snapshot) {
    stage.restored.push(Restored {
        // After everything of before, and before everything to come.
        moment: stage.log.moment(),
        pods: backup.list("pods"),
        ips: backup.list("ips"),
    });
    stage.api.restore(backup);
    stage.log.fault("trouble  a backup is restored");
}

/// Every address that EC2 has on an interface beside its first, and where.
fn attached(stage: &Stage) -> BTreeMap<String, String> {
    stage.cloud.look(|ec2| {
        let interfaces = ec2.interfaces().flat_map(|interface| {
            let id = interface.id.to_string();
            let addresses = interface.secondary.iter();
            addresses.map(move |address| (address.to_string(), id.clone()))
        });
        interfaces.collect()
    })
}

/// What must not change while the brake holds.
struct Held {
    claims: Claims,
    attached: BTreeMap<String, String>,
    sent: usize,
    sequence: u64,
}

impl Held {
    fn now(stage: &Stage) -> Self {
        Self {
            claims: claims(stage),
            attached: attached(stage),
            sent: stage.cloud.sent(),
            sequence: stage.api.requests(),
        }
    }

    /// Nothing of it has.
    fn still(&self, stage: &Stage) -> Result<(), String> {
        let changed = changed_since(stage, self.sequence, &self.claims);
        let sent = stage.cloud.calls().split_off(self.sent);
        if changed.is_empty() && sent.is_empty() && self.attached == attached(stage) {
            return Ok(());
        }
        Err(format!(
            "the pods vanished, and there is {changed:?}; EC2 was told {sent:?}"
        ))
    }
}

/// The brake is engaged, and whoever looks is told how to go on.
fn told(stage: &Stage) -> Result<(), String> {
    if braked(&stage.world) != ["public"] {
        return Err("the pods vanished, and the brake is not engaged".to_owned());
    }
    let events = stage.world.cluster.list("events");
    let named = events.iter().any(|event| {
        let note = event["note"].as_str().unwrap_or_default();
        event["reason"] == "BrakeEngaged" && note.contains("release-brake")
    });
    if named {
        Ok(())
    } else {
        Err("the brake is engaged, and no Event names the way out".to_owned())
    }
}

/// Plays it.
pub(super) async fn play(stage: &mut Stage, seed: u64) -> Result<(), String> {
    gather(stage).await?;
    let backup = stage.api.snapshot();
    let (from, to) = AGE;
    let age = if stage.chance.one_in(2) { from } else { to };
    until(stage, stage.log.now() + age).await;
    as_wished(&stage.world).map_err(|missing| format!("it did not stay in place: {missing}"))?;

    // Nobody makes pods before the control plane is back as a whole.
    stage.world.frozen = true;
    let pods: BTreeMap<String, Pod> = std::mem::take(&mut stage.world.pods);
    let held = Held::now(stage);
    let mut lost = backup.clone().without("pods");
    let ahead = stage.chance.one_in(2);
    if ahead {
        lost = lost.ahead(stage.api.version());
    }
    restore(stage, lost);
    // A process that starts anew knows of no earlier list.
    if stage.chance.one_in(2) {
        stage.replicas.kill(0).await;
        stage.replicas.start_all();
    }
    until(stage, stage.log.now() + TRIPPED).await;
    told(stage)?;
    until(stage, stage.log.now() + HELD).await;
    told(stage)?;
    held.still(stage)?;

    let ways = [WayOut::SeenAgain, WayOut::Word, WayOut::Successors];
    let way = *stage.chance.pick(&ways).expect("three");
    stage.log.say(format!("rest     the way out: {way:?}"));
    match way {
        WayOut::SeenAgain => {
            restore(stage, backup.ahead(stage.api.version()));
            stage.world.pods = pods;
            stage.world.frozen = false;
            until(stage, stage.log.now() + LET_GO).await;
            as_wished(&stage.world)
                .map_err(|missing| format!("the pods are seen again: {missing}"))?;
            held.still(stage)?;
            if !braked(&stage.world).is_empty() {
                return Err("the pods are seen again, and the brake holds".to_owned());
            }
        }
        WayOut::Word => {
            stage.world.release_brake("public");
            until(stage, stage.log.now() + LET_GO).await;
            let kept = attached(stage);
            if !kept.is_empty() {
                return Err(format!("a person said that they are gone, and {kept:?}"));
            }
            if stage.cloud.sent() != held.sent + usize::from(IPS) {
                return Err("a release takes one call".to_owned());
            }
            stage.world.frozen = false;
        }
        WayOut::Successors => {
            stage.world.frozen = false;
            in_place(stage, LET_GO)
                .await
                .map_err(|missing| format!("successors wait behind the brake: {missing}"))?;
        }
    }
    rest(stage, &mut Deeds::new(seed)).await
}
