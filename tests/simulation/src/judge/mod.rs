//! Checks S1 to S5 of docs/design/faults.md on the histories of the API server and of EC2, which have a common order.

mod guards;
mod holding;
mod nodes;
mod objects;
mod repetitions;
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
    /// Whether only one process of Mooring at a time may act.
    pub one_at_a_time: bool,
    /// The inventory interval.
    pub interval: Duration,
    /// Each backup that was restored.
    pub restored: &'a [Restored],
    /// Whether calls landed within, and Describes lagged at most, the bounds that Mooring assumes (except for paused
    /// processes).
    pub within_bounds: bool,
    /// If set: the connection to the API server has no faults, and every event is received within this time.
    pub news_within: Option<Duration>,
}

/// A backup that was restored, and its objects.
#[derive(Clone, Debug)]
pub struct Restored {
    /// When it was restored.
    pub moment: Moment,
    /// The pods in the backup.
    pub pods: Vec<Value>,
    /// The IPs in the backup.
    pub ips: Vec<Value>,
}

/// A violated rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// When it was violated.
    pub at: Duration,
    /// The rule, and what violated it.
    pub sentence: String,
}

/// The counts of the judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The number of moves: an address was recorded at another place or for another pod, and was not free in between.
    pub moves: u64,
    /// The number of gates that were set to `True`.
    pub attached: u64,
}

/// Checks all rules.
///
/// # Errors
/// The first violated rule. A history in which nothing happened is a violation too.
pub fn judge(case: &Case<'_>) -> Result<Seen, Broken> {
    let broken = |at, sentence: String| Err(Broken { at, sentence });
    guards::from_what_was_decided(case.history, case.decided)?;
    repetitions::limited(case.history, case.calls)?;
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
                // Other requests do not change a gate.
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

/// Whether this write is the Record of a move.
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
