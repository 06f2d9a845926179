//! Reports of node parts.

use mooring_plan::names::{IpName, NodeName};
use mooring_plan::objects::{AddressReport, AddressState, NodeReport};

use super::Sim;

impl Sim {
    /// Writes the `IPNode` of a node with this version: "partner" is programmed for its present claim, modified by
    /// `change`.
    pub fn node_part_reports(
        &mut self,
        node: &str,
        version: &str,
        change: impl FnOnce(&mut AddressReport),
    ) {
        let status = self.the_ip("partner").status.clone();
        let claim = status.claim.unwrap();
        let mut entry = AddressReport {
            address: status.address.unwrap(),
            pod: claim.uid,
            claim: claim.id,
            state: AddressState::Programmed,
            probe: None,
        };
        change(&mut entry);
        let report = NodeReport {
            node: NodeName::from(node),
            version: version.to_owned(),
            boot: None,
            heartbeat: 1,
            addresses: [(IpName::from("partner"), entry)].into(),
        };
        self.kube.bump();
        self.kube.node_reports.insert(report.node.clone(), report);
    }
}
