//! Log lines for effects when they are carried out.
//!
//! The target `mooring::decided` logs the version of the object that a write was decided from. The write must be
//! guarded by that version.

use mooring_plan::names::{BlockName, IpName, NodeName, ResourceVersion};
use mooring_plan::objects::Reservation;
use mooring_plan::step::{BlockStep, NodeStep, Write};

/// Logs a write for an IP.
pub(super) fn write(ip: &IpName, write: &Write) {
    decided_for_ip(write);
    match write {
        Write::Status {
            version,
            change,
            status,
            ..
        } => {
            let claim = status.claim.as_ref();
            let (pod, target) = claim.map(|claim| (&claim.pod, claim.target())).unzip();
            let target = target.flatten();
            tracing::info!(%ip, %version, what = ?change, ?pod, ?target, "writing the status");
        }
        Write::Gate(gate) => {
            let reason = gate.reason.as_str();
            tracing::info!(%ip, pod = %gate.pod, status = gate.status, reason, "writing the condition");
        }
        write => tracing::info!(%ip, ?write, "writing"),
    }
}

/// Logs the steps of a block.
pub(super) fn block_steps(block: &BlockName, steps: &[BlockStep]) {
    tracing::debug!(%block, ?steps, "for the block");
    for step in steps {
        decided_for_block(block, step);
    }
}

/// Logs the step of a node.
pub(super) fn node_step(node: &NodeName, step: &NodeStep) {
    match step {
        NodeStep::Ask(instance, checks) => {
            tracing::debug!(%node, %instance, ?checks, "asking for the instance");
        }
        NodeStep::SetTaint(version, lost) => {
            decided("nodes", "", node.as_str(), *version);
            tracing::info!(%node, ?lost, "setting the taint out-of-service");
        }
        NodeStep::RemoveTaint(version) => {
            decided("nodes", "", node.as_str(), *version);
            tracing::info!(%node, "removing the taint out-of-service");
        }
    }
}

/// Logs a write that is guarded by a version.
fn decided_for_ip(write: &Write) {
    match write {
        Write::AddFinalizer { ip, version }
        | Write::RemoveFinalizer { ip, version }
        | Write::DropTakeFrom { ip, version }
        | Write::Status { ip, version, .. }
        | Write::ReportUnreadable { ip, version, .. } => decided("ips", "", ip.as_str(), *version),
        Write::RepairReservation { reservation, .. } | Write::Release(reservation) => {
            of_reservation(reservation);
        }
        Write::Gate(gate) => {
            if let Some(version) = gate.version {
                decided("pods", gate.pod.namespace.as_str(), &gate.pod.name, version);
            }
        }
        Write::Reserve { .. } | Write::Label { .. } => {}
    }
}

/// The same for a step of a block.
fn decided_for_block(block: &BlockName, step: &BlockStep) {
    match step {
        BlockStep::AddFinalizer { version }
        | BlockStep::RemoveFinalizer { version }
        | BlockStep::Status { version, .. }
        | BlockStep::DropReleaseBrake { version } => {
            decided("ipblocks", "", block.as_str(), *version);
        }
        BlockStep::Release(reservation) => of_reservation(reservation),
        BlockStep::ReadSubnet(_)
        | BlockStep::ReadLimits(_)
        | BlockStep::Label { .. }
        | BlockStep::ReadIp(_) => {}
    }
}

fn of_reservation(reservation: &Reservation) {
    let name = reservation.address.to_string();
    decided("ipaddresses", "", &name, reservation.version);
}

fn decided(resource: &str, namespace: &str, name: &str, version: ResourceVersion) {
    tracing::trace!(target: "mooring::decided", resource, namespace, name, version = version.0);
}
