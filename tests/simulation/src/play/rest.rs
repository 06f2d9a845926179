//! How everything comes to rest.

use std::time::Duration;

use super::Stage;
use super::by_hand::set_right;
use super::deeds::Deeds;
use super::wish::{braked, tidied, written_since};

/// How often the world looks around.
const TURN: Duration = Duration::from_millis(500);
/// How long it takes at most until the state is what is wished for, when nothing goes wrong any more.
const REST: Duration = Duration::from_mins(8);
/// A seed of less counts for nothing.
const LENGTH: Duration = Duration::from_secs(605);

/// Nothing goes wrong any more: the state becomes what is wished for, and then nothing is written.
pub(super) async fn rest(stage: &mut Stage, deeds: &mut Deeds) -> Result<(), String> {
    let limit = stage.log.now() + REST;
    stage.log.say("rest     nothing goes wrong any more");
    loop {
        // To look at everything costs more than to let everybody do what is due.
        for _ in 0..10 {
            stage.pass(TURN).await;
            deeds.follow(&mut stage.world);
        }
        let now = stage.log.now();
        set_right(stage);
        for block in braked(&stage.world) {
            stage.world.release_brake(&block);
        }
        match tidied(&stage.world) {
            Ok(()) if now >= LENGTH => break,
            Ok(()) => {}
            Err(missing) if now >= limit => {
                return Err(format!("it never came to rest: {missing}"));
            }
            Err(_) => {}
        }
    }
    // What was wished for is there; what is left to tidy up has as long.
    let silence = stage.replicas.manner().interval * 3 + Duration::from_secs(15);
    loop {
        let (sequence, sent) = (stage.api.requests(), stage.cloud.sent());
        let until = stage.log.now() + silence;
        while stage.log.now() < until {
            stage.pass(TURN).await;
        }
        tidied(&stage.world).map_err(|missing| format!("it did not stay at rest: {missing}"))?;
        let written = written_since(&stage.api, &stage.cloud, sequence, sent);
        if written.is_empty() {
            return Ok(());
        }
        if stage.log.now() >= limit {
            return Err(format!(
                "at rest, and something was written: {}",
                written.join("\n  ")
            ));
        }
    }
}
