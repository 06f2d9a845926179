//! The transitions, and how each reads in a report.

use mooring_plan::facts::Kind;
use mooring_plan::names::IpName;
use mooring_plan::step::{Step, Write};

use crate::state::{Late, State};
use crate::world::events::Event;

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The next event of a track happens.
    Happen(usize),
    /// A controller hears the next event of a watch.
    Hear(usize, Kind),
    /// A controller takes its next step for an IP: a read is answered, a write or a call is sent.
    Begin(usize, IpName),
    /// What it sent is executed.
    Execute(usize, IpName),
    /// It is told the answer.
    Answer(usize, IpName),
    /// It lists the subnet's interfaces.
    Look(usize),
    /// It is told what the list shows.
    Looked(usize),
    /// Nothing is left to do: time passes until something is.
    Wait,
    /// A request that nobody waits for is executed.
    Land(Late),
    /// A fault.
    Befall(Fault),
}

/// A transition that costs one fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A process ends, and another begins.
    Crash(usize),
    /// An answer does not come: what was sent may be executed late, or has been.
    TimeOut(usize, IpName),
    /// What was executed is on its way once more.
    Twice(usize, IpName),
    /// An inventory shows what was, so many changes ago.
    LookBack(usize, usize),
    /// A watch is begun anew: nobody saw what went.
    Relist(usize),
    /// Time passes while something is under way.
    Slow,
}

/// A kind of fault, for the choice of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Befalls {
    Crash,
    TimeOut,
    /// The same of a call alone.
    CallTimesOut,
    Twice,
    LookBack,
    Relist,
    Slow,
}

/// An action as it reads from a state.
pub fn told(state: &State, tracks: &[Vec<Event>], action: &Action) -> String {
    let step = |which: &usize, ip: &IpName| {
        let request = state.controllers[*which].requests.get(ip);
        request.map_or_else(String::new, |request| brief(&request.sent.step))
    };
    match action {
        Action::Happen(track) => {
            let event = tracks[*track].get(state.at[*track]);
            let event = event.map_or_else(String::new, |event| format!("{event:?}"));
            let end = event
                .char_indices()
                .nth(110)
                .map_or(event.len(), |(at, _)| at);
            format!("    event: {}", &event[..end])
        }
        Action::Hear(which, kind) => format!("[{which}] hears of the next change: {kind:?}"),
        Action::Begin(which, ip) => {
            let step = state.controllers[*which].next_step(ip);
            format!("[{which}] {ip}: {}", step.map_or_else(String::new, brief))
        }
        Action::Execute(which, ip) => format!("    is executed: {}", step(which, ip)),
        Action::Answer(which, ip) => {
            let request = state.controllers[*which].requests.get(ip);
            let answer = request.and_then(|request| request.answer.as_ref());
            format!(
                "[{which}] {ip}: is told {}",
                answer.map_or_else(String::new, outcome)
            )
        }
        Action::Look(which) => format!("[{which}] lists the interfaces"),
        Action::Looked(which) => format!("[{which}] is told of the interfaces"),
        Action::Wait => "    time passes".to_owned(),
        Action::Land(late) => format!("    lands late: {}", brief(&late.sent.step)),
        Action::Befall(fault) => match fault {
            Fault::Crash(which) => format!("[{which}] FAULT: ends, and begins anew"),
            Fault::TimeOut(which, ip) => {
                format!("[{which}] FAULT: no answer to {}", step(which, ip))
            }
            Fault::Twice(which, ip) => {
                format!("    FAULT: goes out a second time: {}", step(which, ip))
            }
            Fault::LookBack(which, of) => {
                format!("[{which}] FAULT: lists the interfaces as they were {of} changes ago")
            }
            Fault::Relist(which) => format!("[{which}] FAULT: its watches are begun anew"),
            Fault::Slow => "    FAULT: eleven seconds pass meanwhile".to_owned(),
        },
    }
}

fn outcome(fact: &mooring_plan::facts::Fact) -> String {
    use mooring_plan::facts::{Fact, WriteOutcome};
    match fact {
        Fact::Wrote(_, _, WriteOutcome::Done(_)) => "Done".to_owned(),
        Fact::Wrote(_, _, outcome) => format!("{outcome:?}"),
        Fact::Called(_, _, Ok(())) => "done".to_owned(),
        Fact::Called(_, _, Err(error)) => format!("{:?} ({})", error.outcome, error.message),
        other => format!("{other:?}"),
    }
}

/// A step in one line.
pub fn brief(step: &Step) -> String {
    match step {
        Step::Write(Write::Status(_, version, what, status)) => {
            let holders = status.previous.iter().map(|entry| {
                let holder = entry.holder.as_ref().map_or("", |(_, uid)| uid.as_str());
                format!("{} on {} for {holder}", entry.address, entry.interface)
            });
            let claim = status.claim.as_ref().map_or_else(
                || "nobody".to_owned(),
                |claim| {
                    let hold = format!("{:?}", claim.hold);
                    let hold = hold.split('(').next().unwrap_or_default().to_owned();
                    let on = claim.target().map(|target| &target.place.interface);
                    format!("{} {hold} {}", claim.uid, on.map_or("", |on| on.as_str()))
                },
            );
            let address = status.address.map(|address| address.to_string());
            format!(
                "status {what:?} from {version}: {} {claim}, previous [{}]{}",
                address.unwrap_or_default(),
                holders.collect::<Vec<_>>().join(", "),
                if status.refused.is_some() {
                    ", refused"
                } else {
                    ""
                },
            )
        }
        Step::Write(Write::Gate(gate)) => {
            let (says, why) = (gate.status, gate.reason.as_str());
            let version = gate.version.map(|version| format!(" of {version}"));
            format!(
                "gate of {}{}: {says} ({why})",
                gate.uid,
                version.unwrap_or_default()
            )
        }
        Step::Write(Write::Release(seen)) => format!("release {}", seen.address),
        Step::Write(other) => format!("{other:?}"),
        Step::Read(read) => format!("{read:?}"),
        Step::Call(call) => format!("{call:?}"),
    }
}
