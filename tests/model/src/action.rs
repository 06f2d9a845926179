//! The transitions, and the text for each of them in a report.

use mooring_plan::facts::Kind;
use mooring_plan::names::{IpName, NodeName};
use mooring_plan::step::CallGroup;
use mooring_world::text::brief;

use crate::state::{Late, State};
use crate::world::events::Event;

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The next event of a track happens.
    Event(usize),
    /// A controller receives the next event of a watch.
    ReceiveEvent(usize, Kind),
    /// A controller starts its next step for an IP: a read is answered, a write or a call is sent.
    StartStep(usize, IpName),
    /// A controller sends the calls of several IPs in one request.
    SendTogether(usize, CallGroup),
    /// The request of a controller is executed.
    Execute(usize, IpName),
    /// A controller receives the answer of its request.
    ReceiveAnswer(usize, IpName),
    /// A controller lists the interfaces of the subnet.
    TakeInventory(usize),
    /// A controller receives the list of the interfaces.
    ReceiveInventory(usize),
    /// All controllers are idle: time passes until a step is due.
    PassTime,
    /// The node part of a node programs the kernel for the IPs.
    Program(NodeName),
    /// The node part of a node reports what it has programmed.
    Report(NodeName),
    /// A request is executed after its sender stopped waiting for it.
    ExecuteLate(Late),
    /// A fault.
    Fault(Fault),
}

/// A transition that costs one fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A process ends, and a new one starts.
    Crash(usize),
    /// A controller receives no answer. The request was executed, or may be executed late.
    Timeout(usize, IpName),
    /// A request that was executed is executed again later.
    Duplicate(usize, IpName),
    /// An inventory shows the state before a number of changes.
    OldInventory(usize, usize),
    /// The watches start again with a list: deletions in between were not seen.
    Relist(usize),
    /// Time passes while requests are in progress.
    Delay,
}

/// A kind of fault, for the choice of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    Crash,
    Timeout,
    /// A timeout of a call of EC2 only.
    CallTimeout,
    Duplicate,
    OldInventory,
    Relist,
    Delay,
}

/// The text for an action, taken in this state.
pub fn describe(state: &State, tracks: &[Vec<Event>], action: &Action) -> String {
    let step = |which: &usize, ip: &IpName| {
        let request = state.controllers[*which].requests.get(ip);
        request.map_or_else(String::new, |request| {
            let all = request.sent.all().map(|sent| brief(&sent.step));
            all.collect::<Vec<_>>().join(" with ")
        })
    };
    match action {
        Action::Event(track) => {
            let event = tracks[*track].get(state.at[*track]);
            let event = event.map_or_else(String::new, |event| format!("{event:?}"));
            let end = event
                .char_indices()
                .nth(110)
                .map_or(event.len(), |(at, _)| at);
            format!("    event: {}", &event[..end])
        }
        Action::ReceiveEvent(which, kind) => format!("[{which}] receives the next event: {kind:?}"),
        Action::StartStep(which, ip) => {
            let step = state.controllers[*which].next_step(ip);
            format!("[{which}] {ip}: {}", step.map_or_else(String::new, brief))
        }
        Action::SendTogether(which, group) => format!("[{which}] sends together: {group:?}"),
        Action::Execute(which, ip) => format!("    is executed: {}", step(which, ip)),
        Action::ReceiveAnswer(which, ip) => {
            let request = state.controllers[*which].requests.get(ip);
            let answer = request.and_then(|request| request.answer.as_ref());
            format!(
                "[{which}] {ip}: receives {}",
                answer.map_or_else(String::new, outcome)
            )
        }
        Action::TakeInventory(which) => format!("[{which}] lists the interfaces"),
        Action::ReceiveInventory(which) => format!("[{which}] receives the list of the interfaces"),
        Action::PassTime => "    time passes".to_owned(),
        Action::Program(node) => format!("    node {node} is programmed"),
        Action::Report(node) => format!("    node {node} reports"),
        Action::ExecuteLate(late) => format!("    is executed late: {}", brief(&late.sent.step)),
        Action::Fault(fault) => match fault {
            Fault::Crash(which) => format!("[{which}] FAULT: crashes and restarts"),
            Fault::Timeout(which, ip) => {
                format!("[{which}] FAULT: no answer to {}", step(which, ip))
            }
            Fault::Duplicate(which, ip) => {
                format!(
                    "    FAULT: will be executed a second time: {}",
                    step(which, ip)
                )
            }
            Fault::OldInventory(which, of) => {
                format!("[{which}] FAULT: lists the interfaces as they were {of} changes ago")
            }
            Fault::Relist(which) => format!("[{which}] FAULT: its watches start again with a list"),
            Fault::Delay => "    FAULT: eleven seconds pass".to_owned(),
        },
    }
}

fn outcome(fact: &mooring_plan::facts::Fact) -> String {
    use mooring_plan::facts::{Fact, WriteOutcome};
    match fact {
        Fact::Wrote {
            outcome: WriteOutcome::Done(_),
            ..
        } => "Done".to_owned(),
        Fact::Wrote { outcome, .. } => format!("{outcome:?}"),
        Fact::Called { result: Ok(()), .. } => "done".to_owned(),
        Fact::Called {
            result: Err(error), ..
        } => format!("{:?} ({})", error.outcome, error.text),
        other => format!("{other:?}"),
    }
}
