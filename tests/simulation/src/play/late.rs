//! Calls land, and a Describe lags, for longer than Mooring counts on. That may cost readiness, and may leave an
//! address for a person to take off; it never gives one to two pods, nor takes one from a stranger. When EC2
//! is within its bounds again, everything is as it is wished.

use std::time::Duration;

use ec2_emulator::wire::Action;

use super::Stage;
use super::crowd::{TURN, until};
use super::deeds::Deeds;
use super::rest::rest;
use super::storm::set_up;
use crate::cloud::Call;

/// The start, until most is in place.
const START: Duration = Duration::from_secs(45);
/// So long EC2 is beyond its bounds.
const BEYOND: Duration = Duration::from_mins(5);

/// What Mooring counts on, twice: an inventory is taken between.
const LATE: Duration = Duration::from_secs(20);
/// Where it is counted.
const EXCEEDED: &str = "mooring_describe_lag_exceeded_total";

/// Plays it.
pub(super) async fn play(stage: &mut Stage, seed: u64) -> Result<(), String> {
    let mut deeds = Deeds::new(seed);
    set_up(stage, &mut deeds);
    stage.replicas.start_all();
    until(stage, START).await;
    stage.beyond_bounds = true;
    let lag = stage.troubles.beyond_bounds(&mut stage.chance);
    let (begun, mut next) = (stage.log.now(), stage.log.now());
    while stage.log.now() < begun + BEYOND {
        stage.pass(TURN).await;
        deeds.follow(&mut stage.world);
        let now = stage.log.now();
        if now >= next {
            next = now + stage.chance.millis(3000, 20_000);
            deeds.act(&mut stage.world);
        }
    }
    let ended = stage.log.now().saturating_sub(lag);
    stage.troubles.end();
    noticed(stage, begun, ended)?;
    // What was sent while EC2 was beyond its bounds still lands.
    until(stage, stage.log.now() + crate::cloud::BEYOND).await;
    deeds.heal(&mut stage.world);
    rest(stage, &mut deeds).await
}

/// Where an Assign was answered that a Describe did not show for so long, Mooring has noticed it.
fn noticed(stage: &Stage, from: Duration, to: Duration) -> Result<(), String> {
    let calls = stage.cloud.calls();
    let unseen = calls.iter().find(|call| {
        let answered = call.answered.map(|moment| moment.at);
        let Some(answered) = answered.filter(|at| (from..to).contains(at)) else {
            return false;
        };
        // Another call of the address soon afterwards may have undone it.
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
    let noticed = stage.replicas.metrics().any(|metrics| {
        let text = metrics.encode().unwrap_or_default();
        let mut lines = text.lines();
        lines.any(|line| {
            let count = line.strip_prefix(EXCEEDED).map(str::trim);
            count.is_some_and(|count| count != "0")
        })
    });
    if noticed {
        stage.log.say("rest     the lag was noticed");
        return Ok(());
    }
    Err(format!(
        "a Describe did not show {unseen:?}, and nobody noticed it"
    ))
}
