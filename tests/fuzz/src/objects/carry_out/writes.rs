//! Executes writes of `IP`s, pods and reservations.

use mooring::api::read;
use mooring_plan::facts::{Fact, WriteOutcome, Written};
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::{Gate, Reservation, UnreadableReport};
use mooring_plan::step::Write;

use super::super::promises::{may_write, time, with_status};
use super::{Execution, next, version_of};

impl Execution {
    pub(super) fn write(&mut self, name: &IpName, write: Write) -> Fact {
        let outcome = self.written(name, &write).unwrap_or(WriteOutcome::NotFound);
        Fact::Wrote {
            ip: name.clone(),
            write,
            outcome,
        }
    }

    fn written(&mut self, name: &IpName, write: &Write) -> Option<WriteOutcome> {
        let cluster = &mut self.cluster;
        match write {
            Write::Gate(gate) => {
                let pod = cluster.pods.get_mut(&gate.uid)?;
                pod.gate = Some(Gate {
                    status: gate.status,
                    reason: gate.reason.as_str().to_owned(),
                });
                pod.version = next(pod.version);
                return Some(WriteOutcome::Done(Some(Written::Pod(pod.clone()))));
            }
            Write::Label { uid, ip: label, .. } => {
                let pod = cluster.pods.get_mut(uid)?;
                pod.label.clone_from(label);
                pod.version = next(pod.version);
                return Some(WriteOutcome::Done(Some(Written::Pod(pod.clone()))));
            }
            Write::Reserve {
                ip: of,
                uid,
                address,
                ..
            } => {
                if cluster.reservations.contains_key(address) {
                    return Some(WriteOutcome::AlreadyExists);
                }
                let made = Reservation {
                    address: *address,
                    uid: format!("made-for-{of}"),
                    version: ResourceVersion(1),
                    deleting: false,
                    finalizer: true,
                    parent: Some(of.clone()),
                    parent_text: format!("IP {of}"),
                    label: Some(uid.clone()),
                    owner: Some(uid.clone()),
                    managed: true,
                };
                cluster.reservations.insert(*address, made.clone());
                return Some(WriteOutcome::Done(Some(Written::Reservation(made))));
            }
            Write::RepairReservation {
                ip: of,
                uid,
                reservation: known,
                ..
            } => {
                let repaired = cluster.reservations.get_mut(&known.address)?;
                // The reservation belongs to this IP: it has its UID, or it has its name and the UID of no existing IP.
                let marks = [repaired.label.as_ref(), repaired.owner.as_ref()];
                assert!(
                    marks.contains(&Some(uid)) || repaired.parent.as_ref() == Some(of),
                    "the reservation of another IP is changed: {repaired:?}"
                );
                repaired.version = next(repaired.version);
                (repaired.label, repaired.owner) = (Some(uid.clone()), Some(uid.clone()));
                (repaired.finalizer, repaired.managed) = (true, true);
                let repaired = repaired.clone();
                return Some(WriteOutcome::Done(Some(Written::Reservation(repaired))));
            }
            Write::Release(reservation) => {
                cluster.reservations.remove(&reservation.address)?;
                self.facts.apply(
                    Fact::ReservationGone(reservation.address, reservation.uid.clone()),
                    self.now,
                    self.now,
                );
                return Some(WriteOutcome::Done(None));
            }
            Write::AddFinalizer { .. }
            | Write::RemoveFinalizer { .. }
            | Write::DropTakeFrom { .. }
            | Write::Status { .. }
            | Write::ReportUnreadable { .. } => {}
        }
        self.written_ip(name, write)
    }

    /// A write of an `IP`, guarded by its version.
    fn written_ip(&mut self, name: &IpName, write: &Write) -> Option<WriteOutcome> {
        let object = self.cluster.ips.get_mut(name)?;
        let (Write::AddFinalizer { version: guard, .. }
        | Write::RemoveFinalizer { version: guard, .. }
        | Write::DropTakeFrom { version: guard, .. }
        | Write::Status { version: guard, .. }
        | Write::ReportUnreadable { version: guard, .. }) = write
        else {
            return None;
        };
        if version_of(object) != Some(*guard) {
            return Some(WriteOutcome::Conflict);
        }
        object.metadata.resource_version = Some(next(*guard).to_string());
        match write {
            Write::AddFinalizer { .. } => {
                let finalizers = object.metadata.finalizers.get_or_insert_default();
                finalizers.push(mooring::api::names::IP_FINALIZER.to_owned());
            }
            Write::RemoveFinalizer { .. } => {
                let ip = read::ip(object).unwrap();
                assert!(ip.deleting && ip.status.claim.is_none(), "{ip:?}");
                self.cluster.ips.remove(name);
                self.facts
                    .apply(Fact::IpGone(ip.name, ip.uid), self.now, self.now);
                return Some(WriteOutcome::Done(None));
            }
            Write::DropTakeFrom { .. } => {
                object
                    .metadata
                    .annotations
                    .as_mut()?
                    .remove(mooring::api::names::TAKE_FROM_ANNOTATION);
            }
            Write::Status { change, status, .. } => {
                let before = read::ip(object).unwrap();
                may_write(&before, *change, status);
                *object = with_status(object, status);
                assert_eq!(&read::ip(object).unwrap().status, status, "{change:?}");
            }
            Write::ReportUnreadable { message, .. } => {
                let patch = read::unreadable_ip_patch(object, message, &time()).unwrap();
                json_patch::merge(&mut object.data, &patch);
                let report = read::unreadable_ip(object, String::new()).unwrap().report;
                assert_eq!(report, UnreadableReport::Unreadable(message.clone()));
            }
            _ => return None,
        }
        Some(WriteOutcome::Done(match self.cluster.ip_fact(name)? {
            Fact::Ip(ip) => Some(Written::Ip(ip)),
            unreadable => {
                self.deliver(unreadable);
                None
            }
        }))
    }
}
