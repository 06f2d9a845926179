//! A name that pods ask for and no IP has: the IP was deleted. The gates of the pods say so, and pods without the
//! annotation are released.
//! Rules: R3.31, R4.5, R5.34.

use alloc::format;
use alloc::vec::Vec;

use super::gates::release;
use super::refused_writes::refusals_of_pods;
use super::waiting_pods::gives_reason;
use super::world::on_pod;
use super::{Next, Notices};
use crate::facts::{Facts, HEALTHY_ATTACH, PodSeen, READ_FRESH};
use crate::names::IpName;
use crate::objects::Pod;
use crate::reason::Reason;
use crate::step::{Decision, GateWrite, Read, Step, Write};
use crate::time::Instant;

impl Facts {
    /// The next step for the pods of a name that no IP has. While no pod needs a step, nothing is read.
    pub(super) fn without_ip(&self, name: &IpName, now: Instant) -> Decision {
        let mut notices = Vec::new();
        let pods = || {
            let pods = self.pods_asking(name);
            pods.filter(|seen| !self.is_of_another(&seen.pod))
        };
        let mut next = Next::Idle;
        for seen in pods() {
            // A version of the pod guards the write, because there is no IP with a version that it could name.
            if let Some(write) = release(&seen.pod, Some(seen.pod.version), None) {
                let missed = self.missed_since(name, seen, now);
                next = next.or(|| self.write_if_missed(name, missed, write, now));
            }
        }
        for seen in pods() {
            next = next.or(|| self.report_stale(name, seen, now, &mut notices));
        }
        let failures = self.without_ip.get(name);
        notices.extend(
            failures
                .into_iter()
                .flat_map(|it| refusals_of_pods(name, it, now)),
        );
        let (step, again) = next.into_parts();
        Decision {
            step,
            again,
            notices,
        }
    }

    /// True if an IP of another name has the UID that the pod was admitted for: its label was changed, and that IP
    /// decides about it.
    fn is_of_another(&self, pod: &Pod) -> bool {
        pod.ip.as_ref().is_some_and(|uid| {
            let mut unreadable = self.unreadable.values();
            self.index.ip_of_uid(uid).is_some() || unreadable.any(|ip| &ip.uid == uid)
        })
    }

    /// Writes the reason to the gate of a pod that waits.
    fn report_stale(
        &self,
        name: &IpName,
        seen: &PodSeen,
        now: Instant,
        notices: &mut Notices,
    ) -> Next {
        let Some(bound) = waits_since(seen) else {
            return Next::Idle;
        };
        // The watch of IPs can show a new IP later than the other watch shows its pod.
        let due = bound.plus(HEALTHY_ATTACH);
        if now < due {
            return Next::At(due);
        }
        let gate = stale(name, &seen.pod);
        let missed = self.missed_since(name, seen, now);
        if missed {
            notices.push(on_pod(&seen.pod, gate.reason, gate.message.clone()));
        }
        self.write_if_missed(name, missed, Write::Gate(gate), now)
    }

    /// True if a fresh read that was begun after the pod was seen did not find an IP of this name. The IP existed
    /// before the pod was admitted, so it is gone for good. A watch that lags proves nothing.
    fn missed_since(&self, name: &IpName, seen: &PodSeen, now: Instant) -> bool {
        self.reads.ips.get(name).is_some_and(|read| {
            read.value.is_none() && read.begun >= seen.seen && now.since(read.begun) <= READ_FRESH
        })
    }

    /// This write if the IP is missed, else the read before it. Nothing is read for a write that waits.
    fn write_if_missed(&self, name: &IpName, missed: bool, write: Write, now: Instant) -> Next {
        let failures = self.without_ip.get(name);
        let wait = |step: &Step| failures.and_then(|failures| failures.due(step, now));
        let write = Step::Write(write);
        if let Some(until) = wait(&write) {
            return Next::At(until);
        }
        if missed {
            return Next::Do(write, None);
        }
        let read = Step::Read(Read::Ip(name.clone()));
        wait(&read).map_or(Next::Do(read, None), Next::At)
    }
}

/// Since when the pod waits for the address. None: it does not want one, or its gate has the reason.
fn waits_since(seen: &PodSeen) -> Option<Instant> {
    let pod = &seen.pod;
    seen.bound_since
        .filter(|_| pod.wants_address() && !gives_reason(pod, Reason::StalePod))
}

fn stale(name: &IpName, pod: &Pod) -> GateWrite {
    let message = format!(
        "IP {name} does not exist any more: create it and then delete the pod, or remove the annotation \
         ip.wgtwo.com/ip from the pod"
    );
    GateWrite::explaining(pod, Reason::StalePod, message)
}
