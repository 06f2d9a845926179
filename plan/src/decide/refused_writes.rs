//! A write that the API server refuses is reported, and holds back only what needs it.
//! Rule: R5.34.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::conditions::Trouble;
use super::{Next, World};
use crate::facts::Failures;
use crate::names::IpName;
use crate::objects::Condition;
use crate::reason::Reason;
use crate::step::{Notice, Regarding, StatusWrite, Step, Write};
use crate::time::Instant;

impl World<'_> {
    /// When this step may be done, after failures and in an outage; None: now.
    pub(crate) fn due(&self, step: &Step) -> Option<Instant> {
        let due = self.memory.failures.due(step, self.now);
        match step {
            Step::Call(call) => due.max(self.outage_until(call.action())),
            Step::Read(_) | Step::Write(_) => due,
        }
    }

    /// `next`; or the end of its wait, if it is a step that waits for its backoff. Then the decision goes on with what
    /// does not need this step.
    pub(crate) fn unless_it_waits(&self, next: Next) -> Next {
        let Next::Do(step, at) = &next else {
            return next;
        };
        match self.due(step) {
            None => next,
            Some(due) => Next::At(at.map_or(due, |at| at.min(due))),
        }
    }

    /// The trouble if `next` is a write that the API server refused, and that waits.
    pub(crate) fn refusal(&self, next: &Next) -> Option<Trouble> {
        let Next::Do(Step::Write(write), _) = next else {
            return None;
        };
        let text = self.memory.failures.writes.refusal(write, self.now)?;
        let message = refused(&self.ip.name, write, text);
        Some(Trouble::new(Reason::WriteRefused, message))
    }

    /// The Events about all writes that the API server refuses.
    pub(crate) fn refusals(&self) -> Vec<Notice> {
        let (ip, failures) = (&self.ip.name, &self.memory.failures);
        let mut notices = refusals_of_pods(ip, failures, self.now);
        let mut explained = false;
        for (write, text) in failures.writes.refused(self.now) {
            let message = refused(ip, write, text);
            // Many pods can wait for one IP: on the IP, one of them is enough.
            let explains = matches!(write, Write::Gate(gate) if gate.only_explains());
            if !(explains && explained) {
                notices.push(self.on_ip(Reason::WriteRefused, message));
            }
            explained |= explains;
        }
        notices
    }

    /// Writes to the condition `Ready` that the next step is refused. The other conditions stay as they are.
    pub(crate) fn report_refusal(&self, trouble: &Trouble) -> Next {
        let mut status = self.ip.status.clone();
        status.conditions.ready = Some(Condition {
            status: false,
            reason: trouble.reason,
            message: trouble.message.clone(),
            generation: self.ip.generation,
        });
        if status.conditions == self.ip.status.conditions {
            return Next::Idle;
        }
        self.unless_it_waits(self.write_status(StatusWrite::Conditions, status))
    }
}

/// The Events on pods about the writes to them that the API server refuses. `ip`: the IP that they ask for.
pub(super) fn refusals_of_pods(ip: &IpName, failures: &Failures, now: Instant) -> Vec<Notice> {
    let refused_writes = failures.writes.refused(now);
    let notices = refused_writes.filter_map(|(write, text)| {
        Some(Notice {
            on: pod_of(write)?,
            reason: Reason::WriteRefused,
            message: refused(ip, write, text),
        })
    });
    notices.collect()
}

/// True for a write of the status. If one is refused, a condition that says so would be refused too.
pub(crate) const fn is_of_status(next: &Next) -> bool {
    matches!(next, Next::Do(Step::Write(Write::Status { .. }), _))
}

fn pod_of(write: &Write) -> Option<Regarding> {
    match write {
        Write::Gate(gate) => Some(Regarding::Pod(gate.pod.clone(), gate.uid.clone())),
        Write::Label { pod, uid, .. } => Some(Regarding::Pod(pod.clone(), uid.clone())),
        _ => None,
    }
}

/// What could not be written, the text of the API server, and the way out.
pub(super) fn refused(ip: &IpName, write: &Write, text: &str) -> String {
    let what = match write {
        Write::AddFinalizer { .. } => format!("add the finalizer to IP {ip}"),
        Write::RemoveFinalizer { .. } => format!("remove the finalizer from IP {ip}"),
        Write::DropTakeFrom { .. } => {
            format!("remove the annotation ip.wgtwo.com/take-from from IP {ip}")
        }
        Write::Status { .. } | Write::ReportUnreadable { .. } => {
            format!("write the status of IP {ip}")
        }
        Write::Reserve { address, .. } => format!("create IPAddress {address} for IP {ip}"),
        Write::RepairReservation { reservation, .. } => {
            format!("change IPAddress {} of IP {ip}", reservation.address)
        }
        Write::Release(reservation) => {
            format!("delete IPAddress {} of IP {ip}", reservation.address)
        }
        Write::Gate(gate) => {
            format!(
                "write the condition ip.wgtwo.com/attached of pod {}",
                gate.pod
            )
        }
        Write::Label {
            pod, ip: Some(_), ..
        } => {
            format!("put the label of IP {ip} back on pod {pod}")
        }
        Write::Label { pod, ip: None, .. } => format!("remove the label of IP {ip} from pod {pod}"),
    };
    refused_write(&what, text)
}

/// What the API server refuses, its text, and the way out.
pub(crate) fn refused_write(what: &str, text: &str) -> String {
    format!(
        "the API server refuses to {what}: {text}. Allow it in the RBAC of Mooring, or in the policy or webhook that \
         refuses it"
    )
}
