//! What a person sets right, since nothing promises to: each time is counted and shown.

use std::net::Ipv4Addr;

use ec2_emulator::state::request::Change;
use ec2_emulator::wire::Action;

use super::Stage;
use crate::judge::explains;

/// The late Assign of a process that stood still has put an address somewhere that nobody has any more, or that
/// the status of the IP that has it does not name any more: it is reported (`OrphanedAddress`, `AddressInUse`), never
/// taken off.
pub(super) fn set_right(stage: &mut Stage) {
    let ips = stage.world.cluster.list("ips");
    let named =
        |address: Ipv4Addr, interface: &str| ips.iter().any(|ip| explains(ip, address, interface));
    for call in stage.cloud.calls() {
        let late = call
            .executed
            .iter()
            .any(|execution| execution.refused.is_none() && call.stood_still(execution));
        let late = late || stage.beyond_bounds;
        let Ok(interface) = call.interface.parse() else {
            continue;
        };
        for address in &call.addresses {
            let there = stage.cloud.look(|ec2| {
                ec2.interface(interface)
                    .is_ok_and(|interface| interface.secondary.contains(address))
            });
            let named = named(*address, &call.interface);
            if call.action == Action::AssignPrivateIpAddresses && late && there && !named {
                let addresses = [*address].into();
                let _ = stage.cloud.change(Change::UnassignPrivateIpAddresses {
                    interface,
                    addresses,
                });
                stage
                    .log
                    .by_hand(format!("by hand  {address} is taken off {interface}"));
            }
        }
    }
}
