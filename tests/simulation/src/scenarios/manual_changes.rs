//! Corrections by a person, where Mooring promises none. They are counted and shown.

use std::net::Ipv4Addr;

use ec2_emulator::state::request::Change;
use ec2_emulator::wire::Action;

use super::Simulation;
use crate::judge::explains;

/// Takes addresses off an interface after a late Assign of a paused process, if no IP has the address any more, or if
/// the status of its IP does not name the place. Mooring reports such an address (`OrphanedAddress`,
/// `AddressInUse`), and never takes it off.
pub(super) fn correct(simulation: &mut Simulation) {
    let ips = simulation.world.cluster.list("ips");
    let named =
        |address: Ipv4Addr, interface: &str| ips.iter().any(|ip| explains(ip, address, interface));
    for call in simulation.cloud.calls() {
        let late = call
            .executed
            .iter()
            .any(|execution| execution.refused.is_none() && call.was_paused(execution));
        let late = late || simulation.beyond_bounds;
        let Ok(interface) = call.interface.parse() else {
            continue;
        };
        for address in &call.addresses {
            let there = simulation.cloud.look(|ec2| {
                ec2.interface(interface)
                    .is_ok_and(|interface| interface.secondary.contains(address))
            });
            let named = named(*address, &call.interface);
            if call.action == Action::AssignPrivateIpAddresses && late && there && !named {
                let addresses = [*address].into();
                let _ = simulation.cloud.change(Change::UnassignPrivateIpAddresses {
                    interface,
                    addresses,
                });
                simulation
                    .log
                    .manual_change(format!("manual   {address} is taken off {interface}"));
            }
        }
    }
}
