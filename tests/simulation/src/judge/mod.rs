//! S1 to S5 of docs/design/faults.md over the histories of the API server and of EC2, whose common order is known.

mod guards;
mod holding;
mod nodes;
mod objects;
mod replay;
mod safety;
mod taints;
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

/// The input of the judge.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// The requests of the API server, and its answers.
    pub history: &'a [Entry],
    /// The calls of EC2, and their executions.
    pub calls: &'a [Call],
    /// The version that each write was decided from.
    pub decided: &'a [Decided],
    /// The changes of EC2 by foreign clients.
    pub foreign: &'a [(Moment, Change)],
    /// Only one process of Mooring at a time may act.
    pub one_at_a_time: bool,
    /// The inventory interval.
    pub interval: Duration,
    /// Each backup that was restored.
    pub restored: &'a [Restored],
    /// Calls landed, and a Describe lagged, for no longer than Mooring counts on (paused processes aside).
    pub within_bounds: bool,
    /// The connection to the API server has no faults, and every event is received within this time.
    pub news_within: Option<Duration>,
}

/// A backup that was restored, and its objects.
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

/// The counts of the judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// An address was recorded at another place, or for another pod, without having been free between.
    pub moves: u64,
    /// The number of gates that were set to `True`.
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
                    .and_then(|()| safety::programmed(&replay, entry, outcome))
                    .and_then(|()| safety::labelled(&replay, entry))
                    .and_then(|()| taints::written(case, &replay, entry, outcome))
                    .and_then(|()| holding::written(case, &replay, entry, outcome));
                replay.apply(entry, outcome);
                seen.attached += u64::from(safety::opens(entry));
                if entry.request.resource == "ips" {
                    seen.moves += u64::from(moved(&mut recorded, &outcome.body));
                }
                // Other requests change no gate.
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
