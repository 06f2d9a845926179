//! What a person sets right, since nothing promises to: each time is counted and shown.

use std::collections::BTreeSet;
use std::time::Duration;

use ec2_emulator::state::request::Change;
use ec2_emulator::wire::Action;
use serde_json::{Value, json};

use super::Stage;

/// No call is on its way for so long: a process stood still.
const STOOD_STILL: Duration = Duration::from_secs(10);

/// Looks after both.
pub(super) fn set_right(stage: &mut Stage) {
    let ips = stage.world.cluster.list("ips");
    let had: BTreeSet<&str> = ips
        .iter()
        .filter_map(|ip| ip["status"]["address"].as_str())
        .collect();
    orphaned_address(stage, &had);
    left_reservation(stage, &ips);
}

/// The late Assign of a process that stood still has put an address somewhere that nobody has any more:
/// it is reported (`OrphanedAddress`), never taken off.
fn orphaned_address(stage: &mut Stage, had: &BTreeSet<&str>) {
    for call in stage.cloud.calls() {
        let late = call.executed.iter().any(|execution| {
            execution.refused.is_none() && execution.moment.at > call.sent.at + STOOD_STILL
        });
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

/// A process that stood still, or one of two that lead at once, reserves for an IP that another has just
/// let go: its reservation stays, held by its finalizer, and belongs to nothing.
fn left_reservation(stage: &mut Stage, ips: &[std::sync::Arc<Value>]) {
    for reservation in stage.world.cluster.list("ipaddresses") {
        let meta = &reservation["metadata"];
        let of = &meta["labels"]["ip.wgtwo.com/ip-uid"];
        let lives = ips.iter().any(|ip| &ip["metadata"]["uid"] == of);
        if lives || meta["deletionTimestamp"].is_null() {
            continue;
        }
        let name = meta["name"].as_str().unwrap_or_default();
        let patch = json!({"metadata": {"finalizers": []}});
        stage.world.cluster.merge("ipaddresses", "", name, patch);
        stage.log.by_hand(format!(
            "by hand  the finalizer of IPAddress {name} is taken off"
        ));
    }
}
