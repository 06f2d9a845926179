//! Which version of which object a write was decided from, for whoever traces it: the write has to be guarded by
//! that very version.

use mooring_plan::names::ResourceVersion;
use mooring_plan::objects::Reservation;
use mooring_plan::step::{BlockStep, Write};

/// Traces it, where the write is guarded by a version.
pub(super) fn by_ip(write: &Write) {
    match write {
        Write::AddFinalizer(name, version)
        | Write::RemoveFinalizer(name, version)
        | Write::DropTakeFrom(name, version)
        | Write::Status(name, version, ..)
        | Write::SayUnreadable(name, version, _) => say("ips", "", name.as_str(), *version),
        Write::MendReservation(.., reservation) | Write::Release(reservation) => {
            of_reservation(reservation);
        }
        Write::Gate(gate) => {
            if let Some(version) = gate.version {
                say("pods", gate.pod.namespace.as_str(), &gate.pod.name, version);
            }
        }
        Write::Reserve(..) | Write::Label(..) => {}
    }
}

/// The same of a block's step.
pub(super) fn by_block(step: &BlockStep) {
    match step {
        BlockStep::AddFinalizer(name, version)
        | BlockStep::RemoveFinalizer(name, version)
        | BlockStep::Status(name, version, _)
        | BlockStep::DropReleaseBrake(name, version) => {
            say("ipblocks", "", name.as_str(), *version);
        }
        BlockStep::Release(reservation) => of_reservation(reservation),
        BlockStep::ReadSubnet(_)
        | BlockStep::ReadLimits(_)
        | BlockStep::Label(..)
        | BlockStep::ReadIp(_) => {}
    }
}

fn of_reservation(reservation: &Reservation) {
    let name = reservation.address.to_string();
    say("ipaddresses", "", &name, reservation.version);
}

fn say(resource: &str, namespace: &str, name: &str, version: ResourceVersion) {
    tracing::trace!(target: "mooring::decided", resource, namespace, name, version = version.0);
}
