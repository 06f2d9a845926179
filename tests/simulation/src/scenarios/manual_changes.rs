//! Corrections by a person, where Mooring promises none. They are counted and shown.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ec2_emulator::state::request::Change;
use ec2_emulator::wire::Action;

use super::Simulation;
use crate::cloud::{Call, Execution};
use crate::judge::explains;

/// Takes addresses off an interface after a late Assign of a paused process, if no IP has the address any more, or if
/// the status of its IP does not name the place. Mooring reports such an address (`OrphanedAddress`,
/// `AddressInUse`), and never takes it off.
pub(super) fn correct(simulation: &mut Simulation) {
    let ips = simulation.world.cluster.list("ips");
    let named =
        |address: Ipv4Addr, interface: &str| ips.iter().any(|ip| explains(ip, address, interface));
    for ((address, on), late) in last_assigns(&simulation.cloud.calls()) {
        let Ok(interface) = on.parse() else {
            continue;
        };
        let there = simulation.cloud.look(|ec2| {
            ec2.interface(interface)
                .is_ok_and(|interface| interface.secondary.contains(&address))
        });
        if (late || simulation.beyond_bounds) && there && !named(address, &on) {
            let addresses = [address].into();
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

/// Whether the last Assign of each address to each interface was executed late: no earlier one put it there.
fn last_assigns(calls: &[Call]) -> BTreeMap<(Ipv4Addr, String), bool> {
    let mut executed: Vec<(&Call, &Execution)> = calls
        .iter()
        .filter(|call| call.action == Action::AssignPrivateIpAddresses)
        .flat_map(|call| call.executed.iter().map(move |execution| (call, execution)))
        .filter(|(_, execution)| execution.refused.is_none() && execution.effective)
        .collect();
    executed.sort_by_key(|(_, execution)| (execution.moment.after, execution.moment.count));
    let each = executed.into_iter().flat_map(|(call, execution)| {
        let late = call.was_paused(execution);
        let addresses = call.addresses.iter();
        addresses.map(move |address| ((*address, call.interface.clone()), late))
    });
    each.collect()
}
