//! Applies the answers to own writes and calls.

use alloc::collections::BTreeSet;
use alloc::string::String;
use core::time::Duration;

use super::super::{Affected, CallError, Facts, Memory, WriteOutcome, Written};
use crate::facts::location::OwnWrite;
use crate::facts::memory::Recorded;
use crate::names::{IpName, PodUid};
use crate::outcome::Outcome;
use crate::step::{Call, StatusWrite, Write};
use crate::time::Instant;

impl Facts {
    pub(super) fn wrote(
        &mut self,
        name: &IpName,
        write: Write,
        outcome: WriteOutcome,
        begun: Instant,
        now: Instant,
    ) -> Affected {
        self.wrote_without_ip(name, &write, &outcome, now);
        let ip = self.ips.get(name);
        let known = ip.map(|ip| ip.version);
        let names = |uid: &PodUid| ip.is_some_and(|ip| ip.names_pod(uid));
        let mut of_none = Memory::default();
        let memory = self.memory.get_mut(name).unwrap_or(&mut of_none);
        let mut affected = Affected::One(name.clone());
        memory.last_write_at = now;
        memory.recorded = recorded(&write, &outcome, begun);
        let possible = PossibleEffect::of(&write, &outcome);
        match (&write, &outcome) {
            (Write::Gate(gate), WriteOutcome::Done(_)) => {
                memory.gate_written(gate, names(&gate.uid));
            }
            (Write::Gate(gate), WriteOutcome::NotFound) => {
                if names(&gate.uid) {
                    memory.gone.insert(gate.uid.clone());
                }
                affected = affected.and(self.lose_pod(&gate.uid));
            }
            (Write::Reserve { address, .. }, WriteOutcome::AlreadyExists) => {
                memory.taken.insert(*address, (now, String::new()));
            }
            (
                Write::Reserve {
                    version, address, ..
                },
                WriteOutcome::Done(_),
            ) => {
                memory.taken.clear();
                memory.adopted = Some(*address).filter(|_| known == Some(*version));
            }
            (
                Write::RepairReservation {
                    wanted_at: version,
                    reservation: repaired,
                    ..
                },
                WriteOutcome::Done(_),
            ) => {
                memory.adopted = Some(repaired.address).filter(|_| known == Some(*version));
            }
            // A conflict does not prove that the reservation is gone: if it were removed here, the watch might not show
            // it again.
            (Write::Release(reservation), WriteOutcome::Done(_) | WriteOutcome::NotFound)
            | (Write::RepairReservation { reservation, .. }, WriteOutcome::NotFound) => {
                affected = affected.and(self.lose_released(reservation));
            }
            (Write::Label { uid, ip: None, .. }, WriteOutcome::NotFound) => {
                affected = affected.and(self.lose_pod(uid));
            }
            (Write::Label { uid, ip: None, .. }, WriteOutcome::Done(_)) => {
                affected = affected.and(self.lose_label(uid, begun));
            }
            (
                Write::Status { .. } | Write::AddFinalizer { .. } | Write::RemoveFinalizer { .. },
                WriteOutcome::NotFound,
            ) => {
                memory.stale = true;
            }
            _ => {}
        }
        let memory = self.memory.get_mut(name).unwrap_or(&mut of_none);
        match outcome {
            // `stale` stays: only a lagging watch sets it while a write is in flight, and then it needs a read.
            WriteOutcome::Done(written) => {
                memory.failures.write_succeeded(&write, now);
                affected = affected.and(match written {
                    // If it is gone, no event would remove it again.
                    Some(Written::Ip(ip)) if self.knows_uid(&ip.name, &ip.uid) => {
                        self.see_ip(ip, now)
                    }
                    Some(Written::Pod(pod)) if self.pods.contains_key(&pod.uid) => {
                        self.see_pod(pod, now)
                    }
                    Some(Written::Reservation(reservation)) => {
                        self.see_reservation(reservation, now)
                    }
                    Some(Written::Ip(_) | Written::Pod(_)) | None => Affected::Nothing,
                });
            }
            failed => memory.not_written(name.as_str(), write, &failed, now),
        }
        affected.and(self.write_ended(name, &possible, now))
    }

    /// What was kept for the write of an IP ends, unless it may have been executed.
    fn write_ended(&mut self, name: &IpName, possible: &PossibleEffect, now: Instant) -> Affected {
        match possible {
            PossibleEffect::None => {
                let reserved = self.reserve_ended(name);
                reserved.and(self.claim_write_ended(name, now))
            }
            PossibleEffect::Written => self.reserve_ended(name),
            PossibleEffect::Created => Affected::Nothing,
        }
    }

    pub(super) fn called(
        &mut self,
        name: IpName,
        call: Call,
        result: Result<(), CallError>,
        now: Instant,
    ) -> Affected {
        let interval = self.settings.inventory_interval;
        let subnet_id = self.subnet_of(&name);
        // The IP can be gone meanwhile: then it has no memory.
        let mut of_none = Memory::default();
        let memory = self.memory.get_mut(&name).unwrap_or(&mut of_none);
        memory.last_write_at = now;
        let applied = result.is_ok();
        let error = result.err().filter(|error| error.outcome != Outcome::Done);
        let address = call.address();
        let subnet = subnet_id.map(|id| self.subnets.entry(id).or_default());
        let mut left = None;
        match (error, subnet) {
            (None, subnet) => {
                memory.failures.call_succeeded();
                memory.denied.clear();
                let known = subnet
                    .as_ref()
                    .and_then(|subnet| subnet.locate(address, interval, now).on);
                // If the address was not known to be on this ENI, an Unassign proves nothing about its present place.
                let was_there = known.as_ref() == Some(call.interface());
                let on = match &call {
                    Call::Assign { interface, .. } => {
                        memory.unassigned.remove(&(interface.clone(), address));
                        let others = memory.unassigned.iter_mut();
                        let others = others.filter(|((_, of), _)| *of == address);
                        others.for_each(|(_, nowhere)| *nowhere = false);
                        memory.refused.remove(interface);
                        Some(interface.clone())
                    }
                    Call::Unassign { interface, .. } => {
                        let nowhere = memory
                            .unassigned
                            .entry((interface.clone(), address))
                            .or_default();
                        *nowhere |= applied && was_there;
                        None
                    }
                };
                if let Some(subnet) = subnet {
                    if on.is_some() || was_there {
                        left = known.filter(|known| Some(known) != on.as_ref());
                        let now_on = on;
                        let own = OwnWrite {
                            answered: now,
                            now_on,
                        };
                        subnet.wrote(address, own);
                    }
                    subnet.unknown.remove(&address);
                }
            }
            (Some(error), subnet) => {
                match (&call, error.outcome) {
                    (Call::Assign { interface, .. }, outcome) if outcome.is_for_good() => {
                        memory.refused_by(interface, now);
                    }
                    (Call::Unassign { interface, .. }, Outcome::InterfaceNotFound) => {
                        memory.missing.insert(interface.clone());
                    }
                    // It is the primary address of the ENI, so Mooring did not put it there.
                    (Call::Unassign { interface, .. }, Outcome::Primary) => {
                        memory
                            .unassigned
                            .entry((interface.clone(), address))
                            .or_default();
                    }
                    _ => {}
                }
                let message = error.text;
                let action = call.action();
                let of_all = memory.failures.call_failed(
                    name.as_str(),
                    call,
                    error.outcome,
                    message.clone(),
                    now,
                );
                if let Some(subnet) = subnet
                    && error.outcome != Outcome::Throttled
                {
                    if matches!(
                        error.outcome,
                        Outcome::Unknown | Outcome::AssignedElsewhere | Outcome::Primary
                    ) {
                        subnet.unknown.insert(address, now);
                    }
                    // An inventory that begins in the same millisecond proves nothing about this answer.
                    subnet.want(now.plus(Duration::from_millis(1)));
                }
                // A call for an IP that is gone begins no outage, because no later call of the IP would end it.
                if of_all
                    && self.ips.contains_key(&name)
                    && self.outage_lasts(name.clone(), action, error.outcome, message, now)
                {
                    return Affected::All;
                }
            }
        }
        let mut affected = BTreeSet::from([name]);
        if let Some(interface) = left {
            affected.extend(self.affected_by_room(&interface));
        }
        Affected::of(affected)
    }
}

/// What may be true after a write without an answer.
enum PossibleEffect {
    /// The outcome is known.
    None,
    /// The object may have been written. The next read of the IP shows it.
    Written,
    /// A reservation may have been created, or may still be. The list before the next create shows it.
    Created,
}

impl PossibleEffect {
    const fn of(write: &Write, outcome: &WriteOutcome) -> Self {
        match (outcome, write) {
            (WriteOutcome::Unknown, Write::Reserve { .. }) => Self::Created,
            (WriteOutcome::Unknown, _) => Self::Written,
            _ => Self::None,
        }
    }
}

/// The Record, if this write is one and succeeded.
fn recorded(write: &Write, outcome: &WriteOutcome, begun: Instant) -> Option<Recorded> {
    match (write, outcome) {
        (
            Write::Status {
                change: StatusWrite::Record,
                ..
            },
            WriteOutcome::Done(Some(Written::Ip(ip))),
        ) => Some(Recorded {
            begun,
            version: ip.version,
        }),
        _ => None,
    }
}
