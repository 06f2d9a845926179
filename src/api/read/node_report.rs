//! Reads an `IPNode`, the report of a node part.

use kube::core::DynamicObject;
use mooring_plan::names::{BootId, ClaimId, IpName, NodeName, PodUid};
use mooring_plan::objects::{AddressReport, AddressState, NodeReport, ProbeOutcome};

use super::{Problem, Unreadable, name, part};
use crate::api::{IpNodeStatus, ProbedAddress, ProgrammedAddress};

/// The state of a programmed address. All other states mean that it is not programmed.
pub const PROGRAMMED: &str = "Programmed";
/// The state of an address that cannot be programmed on this node at all.
pub const UNSUPPORTED: &str = "Unsupported";

/// Reads an `IPNode`. An entry that cannot be read counts as absent, so that only its own IP waits.
///
/// # Errors
/// A part does not match its schema.
pub fn node_report(object: &DynamicObject) -> Result<NodeReport, Unreadable> {
    read(object).map_err(|problem| problem.of("IPNode", object))
}

fn read(object: &DynamicObject) -> Result<NodeReport, Problem> {
    let status = part::<IpNodeStatus>(object, "status")?.unwrap_or_default();
    let heartbeat = status.heartbeat_time.map(|time| time.0.as_second());
    Ok(NodeReport {
        node: NodeName::from(name(&object.metadata)?),
        version: status.version.unwrap_or_default(),
        boot: status.boot_id.as_deref().and_then(BootId::parse),
        heartbeat: heartbeat.unwrap_or_default(),
        addresses: status.addresses.iter().filter_map(entry).collect(),
    })
}

fn entry(reported: &ProgrammedAddress) -> Option<(IpName, AddressReport)> {
    let message = || {
        reported
            .message
            .clone()
            .unwrap_or_else(|| reported.state.clone())
    };
    let state = match reported.state.as_str() {
        PROGRAMMED => AddressState::Programmed,
        UNSUPPORTED => AddressState::Unsupported(message()),
        _ => AddressState::NotProgrammed(message()),
    };
    let report = AddressReport {
        address: reported.address.parse().ok()?,
        pod: PodUid::from(reported.pod_uid.as_str()),
        claim: ClaimId(reported.claim.parse().ok()?),
        state,
        probe: reported.probe.as_ref().map(outcome),
    };
    Some((IpName::from(reported.ip.as_str()), report))
}

fn outcome(reported: &ProbedAddress) -> ProbeOutcome {
    let round_trip = reported.round_trip_milliseconds;
    ProbeOutcome {
        target: reported.target.clone(),
        // A text that is not an address is certainly not the expected address.
        observed: reported
            .observed
            .as_ref()
            .and_then(|text| text.parse().ok()),
        round_trip: round_trip.and_then(|time| time.try_into().ok()),
        message: reported.message.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(addresses: &Value) -> NodeReport {
        let object = json!({
            "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPNode", "metadata": { "name": "a" },
            "status": { "version": "0.1.0", "heartbeatTime": "2026-11-23T10:00:00Z", "addresses": addresses },
        });
        node_report(&serde_json::from_value(object).unwrap()).unwrap()
    }

    fn reported(claim: &str, state: &str, message: Option<&str>) -> Value {
        json!([{ "ip": "partner", "address": "203.0.113.10", "podUID": "p", "claim": claim, "state": state,
                 "message": message }])
    }

    #[test]
    fn only_the_state_programmed_means_that_it_is() {
        let of = |state, message| {
            let report = read(&reported("7", state, message));
            report.addresses[&IpName::from("partner")].state.clone()
        };
        let not = |why: &str| AddressState::NotProgrammed(why.to_owned());
        assert_eq!(of("Programmed", None), AddressState::Programmed);
        assert_eq!(of("Waiting", Some("no MAC")), not("no MAC"));
        assert_eq!(of("Halfway", None), not("Halfway"));
        let unsupported = AddressState::Unsupported("Cilium".to_owned());
        assert_eq!(of("Unsupported", Some("Cilium")), unsupported);
    }

    #[test]
    fn a_report_says_which_boot_it_describes_if_its_node_part_knows_it() {
        let of = |status: Value| {
            let object = json!({
                "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPNode", "metadata": { "name": "a" },
                "status": status,
            });
            let report = node_report(&serde_json::from_value(object).unwrap());
            report.unwrap().boot
        };
        let boot = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";
        assert_eq!(of(json!({ "bootID": boot })), BootId::parse(boot));
        assert_eq!(of(json!({})), None);
        assert_eq!(of(json!({ "bootID": "another kind of text" })), None);
    }

    #[test]
    fn an_entry_that_cannot_be_read_counts_as_none() {
        assert!(
            read(&reported("web/eni-1/2026", "Programmed", None))
                .addresses
                .is_empty()
        );
        assert_eq!(read(&reported("7", "Programmed", None)).addresses.len(), 1);
    }
}
