//! What a person sets right, since nothing promises to: each time is counted and shown.

use std::collections::BTreeSet;

use ec2_emulator::state::request::Change;
use ec2_emulator::wire::Action;

use super::Stage;

/// The late Assign of a process that stood still has put an address somewhere that nobody has any more:
/// it is reported (`OrphanedAddress`), never taken off.
pub(super) fn set_right(stage: &mut Stage) {
    let ips = stage.world.cluster.list("ips");
    let had: BTreeSet<&str> = ips
        .iter()
        .filter_map(|ip| ip["status"]["address"].as_str())
        .collect();
    for call in stage.cloud.calls() {
        let late = call
            .executed
            .iter()
            .any(|execution| execution.refused.is_none() && call.stood_still(execution));
        let Ok(interface) = call.interface.parse() else {
            continue;
        };
        for address in &call.addresses {
            let there = stage.cloud.look(|ec2| {
                ec2.interface(interface)
                    .is_ok_and(|interface| interface.secondary.contains(address))
            });
            let ours = had.contains(address.to_string().as_str());
            if call.action == Action::AssignPrivateIpAddresses && late && there && !ours {
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
