//! The writes of one IP that failed: when each is tried again, and what the API server said if it refused it.
//! Rules: R5.14 to R5.16, R5.34.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use core::time::Duration;

use crate::address::Address;
use crate::backoff::{Backoff, FAILURES};
use crate::names::PodUid;
use crate::step::{GateWrite, StatusWrite, Write};
use crate::time::Instant;

/// A failed write that is not tried again within this time after its backoff is not needed any more.
const KEEP: Duration = Duration::from_mins(1);

/// The maximum length of the text of a refusal, in characters.
const LONGEST_TEXT: usize = 300;

/// What a write is about. At most one failed write is remembered for each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Subject {
    AddFinalizer,
    RemoveFinalizer,
    TakeFrom,
    Unreadable,
    Status(StatusWrite),
    Reserve(Address),
    Repair(Address),
    Release(Address),
    /// The gate is set to `True`.
    Open(PodUid),
    /// The gate of a loser is set to `False`.
    Close(PodUid),
    /// The gate says why the pod waits.
    Explain(PodUid),
    Label(PodUid),
}

impl Subject {
    fn of(write: &Write) -> Self {
        match write {
            Write::AddFinalizer { .. } => Self::AddFinalizer,
            Write::RemoveFinalizer { .. } => Self::RemoveFinalizer,
            Write::DropTakeFrom { .. } => Self::TakeFrom,
            Write::ReportUnreadable { .. } => Self::Unreadable,
            Write::Status { change, .. } => Self::Status(*change),
            Write::Reserve { address, .. } => Self::Reserve(*address),
            Write::RepairReservation { reservation, .. } => Self::Repair(reservation.address),
            Write::Release(reservation) => Self::Release(reservation.address),
            Write::Gate(gate) => Self::of_gate(gate),
            Write::Label { uid, .. } => Self::Label(uid.clone()),
        }
    }

    fn of_gate(gate: &GateWrite) -> Self {
        let uid = gate.uid.clone();
        if gate.only_explains() {
            Self::Explain(uid)
        } else if gate.status {
            Self::Open(uid)
        } else {
            Self::Close(uid)
        }
    }

    fn is_of(&self, pod: &PodUid) -> bool {
        match self {
            Self::Open(uid) | Self::Close(uid) | Self::Explain(uid) | Self::Label(uid) => {
                uid == pod
            }
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct FailedWrite {
    /// Without versions: a write that is decided again from a newer version is the same write.
    write: Write,
    backoff: Backoff,
    /// The text of the first refusal of this row of failures; None: not refused, as far as is known. Later texts can
    /// differ each time, and each would be another Event.
    refused: Option<String>,
}

/// The failed writes of one IP. Nearly all IPs have none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FailedWrites(BTreeMap<Subject, Box<FailedWrite>>);

impl FailedWrites {
    /// A write failed. `refused`: the text of the API server, if it refused the write.
    pub(super) fn failed(&mut self, name: &str, write: Write, refused: Option<&str>, now: Instant) {
        self.forget_unneeded(now);
        let subject = Subject::of(&write);
        let before = self.0.remove(&subject);
        let backoff = FAILURES.after(before.as_ref().map(|before| &before.backoff), name, now);
        let first = before.and_then(|before| before.refused);
        let refused = first.or_else(|| refused.map(shortened));
        let write = write.without_versions();
        let failed = FailedWrite {
            write,
            backoff,
            refused,
        };
        self.0.insert(subject, Box::new(failed));
    }

    /// The API server has carried out this write, or answered that there is nothing to write.
    pub(super) fn succeeded(&mut self, write: &Write, now: Instant) {
        if !self.0.is_empty() {
            self.0.remove(&Subject::of(write));
            self.forget_unneeded(now);
        }
    }

    pub(super) fn forget_unneeded(&mut self, now: Instant) {
        self.0
            .retain(|_, failed| failed.backoff.until.plus(KEEP) > now);
    }

    /// The spec of the IP has changed: another address can be asked for.
    pub(super) fn forget_creates(&mut self) {
        self.0
            .retain(|subject, _| !matches!(subject, Subject::Reserve(_)));
    }

    pub(super) fn forget_pod(&mut self, uid: &PodUid) {
        self.0.retain(|subject, _| !subject.is_of(uid));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn backoffs(&mut self) -> impl Iterator<Item = &mut Backoff> {
        self.0.values_mut().map(|failed| &mut failed.backoff)
    }

    /// The failure of this write, while it waits. A reason of a waiting pod waits for every write of a reason to that pod,
    /// and a change of the status for every such change: otherwise two claims that both fail would end each other's wait.
    /// (An event of an object ends these waits.) Any other write waits only for the same one: a different one follows from
    /// a change.
    fn waits(&self, write: &Write, now: Instant) -> Option<&FailedWrite> {
        if self.0.is_empty() {
            return None;
        }
        let subject = Subject::of(write);
        let failed = self.0.get(&subject)?;
        let same = matches!(subject, Subject::Explain(_) | Subject::Status(_))
            || failed.write == write.clone().without_versions();
        (same && failed.backoff.until > now).then_some(failed)
    }

    /// When the write may be done; None: now.
    pub(super) fn due(&self, write: &Write, now: Instant) -> Option<Instant> {
        self.waits(write, now).map(|failed| failed.backoff.until)
    }

    /// The text of the API server, if it refused this write and the write waits.
    pub(crate) fn refusal(&self, write: &Write, now: Instant) -> Option<&str> {
        self.waits(write, now)?.refused.as_deref()
    }

    /// The addresses whose creates the API server refused when it last answered.
    pub(crate) fn refused_creates(&self) -> impl Iterator<Item = Address> {
        self.0.iter().filter_map(|(subject, failed)| match subject {
            Subject::Reserve(address) if failed.refused.is_some() => Some(*address),
            _ => None,
        })
    }

    /// The refused writes that wait, and the text of the API server.
    pub(crate) fn refused(&self, now: Instant) -> impl Iterator<Item = (&Write, &str)> {
        let waiting = self
            .0
            .values()
            .filter(move |failed| failed.backoff.until > now);
        waiting.filter_map(|failed| Some((&failed.write, failed.refused.as_deref()?)))
    }
}

/// The text of a refusal, not longer than a message may be.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}
