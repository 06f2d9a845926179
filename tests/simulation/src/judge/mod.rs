//! S1 to S5 of docs/design/faults.md over the histories of the API server and of EC2, whose common order is known.

mod guards;
mod holding;
mod nodes;
mod objects;
mod replay;
mod safety;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use ec2_emulator::state::request::Change;
use serde_json::Value;

use crate::api_server::Entry;
use crate::cloud::Call;
use crate::decisions::Decided;
use crate::log::Moment;

pub use objects::explains;
pub use replay::{Event, in_order};

/// What is judged.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// What the API server was asked, and answered.
    pub history: &'a [Entry],
    /// What EC2 was told, and did.
    pub calls: &'a [Call],
    /// What each write was decided from.
    pub decided: &'a [Decided],
    /// What others did to EC2.
    pub foreign: &'a [(Moment, Change)],
    /// One of Mooring's processes at a time may act.
    pub one_at_a_time: bool,
    /// How old a look at EC2 may be.
    pub interval: Duration,
    /// Each backup that was restored.
    pub restored: &'a [Restored],
    /// Calls landed, and a Describe lagged, for no longer than Mooring counts on (paused processes aside).
    pub within_bounds: bool,
    /// Nothing stands between the API server and Mooring, so that it hears of everything by then.
    pub news_within: Option<Duration>,
}

/// A backup was restored: what the API server shows is what it held.
#[derive(Clone, Debug)]
pub struct Restored {
    /// When.
    pub moment: Moment,
    /// The pods that it held.
    pub pods: Vec<Value>,
    /// The IPs that it held.
    pub ips: Vec<Value>,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// When.
    pub at: Duration,
    /// Which, and by what.
    pub sentence: String,
}

/// What was seen on the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// An address was recorded at another place, or for another pod, without having been free between.
    pub moves: u64,
    /// Pods that were told that they have their address.
    pub attached: u64,
}

/// Judges.
///
/// # Errors
/// The first rule that was broken. A history in which nothing happened breaks one.
pub fn judge(case: &Case<'_>) -> Result<Seen, Broken> {
    let broken = |at, sentence: String| Err(Broken { at, sentence });
    guards::from_what_was_decided(case.history, case.decided)?;
    let mut replay = replay::Replay::default();
    let mut seen = Seen::default();
    let mut recorded: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    let mut calls = 0;
    for event in in_order(case) {
        let verdict = match event {
            Event::Wrote(entry, outcome) => {
                let verdict = safety::guarded(entry)
                    .and_then(|()| safety::named(&replay, entry, outcome))
                    .and_then(|()| safety::labelled(&replay, entry))
                    .and_then(|()| holding::written(case, &replay, entry, outcome));
                replay.apply(entry, outcome);
                seen.attached += u64::from(safety::opens(entry));
                if entry.request.resource == "ips" {
                    seen.moves += u64::from(moved(&mut recorded, &outcome.body));
                }
                // Nothing else changes who says what.
                let speaks = matches!(entry.request.resource.as_str(), "ips" | "pods");
                verdict.and_then(|()| {
                    if speaks {
                        safety::one_holder(&replay)
                    } else {
                        Ok(())
                    }
                })
            }
            Event::Restored(backup) => {
                replay.restore(backup);
                Ok(())
            }
            Event::Sent(call) => {
                calls += 1;
                safety::sent(case, &replay, call)
            }
            Event::Executed(call, execution) => {
                let verdict = safety::executed(case, &replay, call, execution);
                replay.execute(call, execution);
                verdict
            }
        };
        if let Err(sentence) = verdict {
            return broken(event.at(), sentence);
        }
    }
    if seen.attached == 0 || calls == 0 {
        return broken(
            Duration::ZERO,
            format!(
                "nothing happened: {} gates were opened, {calls} calls were sent",
                seen.attached
            ),
        );
    }
    Ok(seen)
}

/// Is this the record of a move?
fn moved<'a>(recorded: &mut BTreeMap<&'a str, (&'a str, &'a str)>, ip: &'a Value) -> bool {
    let uid = objects::text(ip, "/metadata/uid");
    let status = &ip["status"];
    if status["claimed"] != true {
        recorded.remove(uid);
        return false;
    }
    if status["assigned"] != true {
        return false;
    }
    let now = (
        objects::text(ip, "/status/podUID"),
        objects::text(ip, "/status/networkInterfaceID"),
    );
    recorded
        .insert(uid, now)
        .is_some_and(|before| before != now)
}
