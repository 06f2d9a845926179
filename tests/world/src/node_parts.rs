//! The node parts: each programs the addresses on its node, and reports them in its `IPNode`.

use std::collections::{BTreeMap, BTreeSet};

use mooring_plan::names::{BootId, IpName, NodeName};
use mooring_plan::objects::{AddressReport, AddressState, Claim, DataPath, Ip, NodeReport};

use crate::kube::Kube;

/// What the kernel of one node has programmed.
type Kernel = BTreeMap<IpName, AddressReport>;

/// The kernels of the nodes that have a node part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeParts {
    kernels: BTreeMap<NodeName, Kernel>,
    /// Nodes whose node part still reports, but does not program any more.
    paused: BTreeSet<NodeName>,
}

impl NodeParts {
    /// The claim that a node has programmed for an IP.
    pub fn programmed(&self, node: &NodeName, ip: &IpName) -> Option<&AddressReport> {
        self.kernels.get(node)?.get(ip)
    }
}

impl Kube {
    /// Starts a node part on this node.
    pub fn start_node_part(&mut self, node: &NodeName) {
        self.node_parts.kernels.entry(node.clone()).or_default();
    }

    /// Pauses the node part of this node: it programs nothing until it is resumed.
    pub fn pause_node_part(&mut self, node: &NodeName, paused: bool) {
        if paused {
            self.node_parts.paused.insert(node.clone());
        } else {
            self.node_parts.paused.remove(node);
        }
    }

    /// Removes the node part of this node. Its last report stays.
    pub fn stop_node_part(&mut self, node: &NodeName) {
        self.node_parts.kernels.remove(node);
    }

    /// Reboots this node: its kernel has nothing any more, and no node part runs there. Its last report stays.
    pub fn reboot(&mut self, node: &NodeName, boot: BootId) {
        self.stop_node_part(node);
        let version = self.bump();
        if let Some(node) = self.nodes.get_mut(node) {
            node.boot = Some(boot);
            node.version = version;
        }
    }

    /// Does the node of this IP lack the node part that its block asks for?
    pub fn lacks_node_part(&self, ip: &Ip) -> bool {
        let target = ip.status.claim.as_ref().and_then(Claim::target);
        let parts = &self.node_parts;
        let works = |node| parts.kernels.contains_key(node) && !parts.paused.contains(node);
        self.asks_for_node_part(ip) && target.is_some_and(|target| !works(&target.node))
    }

    /// Does the block of this IP ask for the node part?
    pub fn asks_for_node_part(&self, ip: &Ip) -> bool {
        let block = ip
            .status
            .block
            .as_ref()
            .and_then(|block| self.blocks.get(block));
        let spec = block.and_then(|block| block.spec.as_ref().ok());
        spec.is_some_and(|spec| spec.data_path == DataPath::NodePart)
    }

    /// The nodes that have a node part.
    pub fn nodes_with_part(&self) -> Vec<NodeName> {
        self.node_parts.kernels.keys().cloned().collect()
    }

    /// Programs the kernel of a node for the IPs. Returns whether this changes it.
    pub fn program(&mut self, node: &NodeName) -> bool {
        let can = self.can_program(node);
        if can {
            let desired = self.desired_kernel(node);
            self.node_parts.kernels.insert(node.clone(), desired);
        }
        can
    }

    /// Would [`Self::program`] change anything?
    pub fn can_program(&self, node: &NodeName) -> bool {
        let kernel = self.node_parts.kernels.get(node);
        let works = !self.node_parts.paused.contains(node);
        works && kernel.is_some_and(|kernel| *kernel != self.desired_kernel(node))
    }

    /// Writes the report of the node part. Returns whether it changes.
    pub fn report(&mut self, node: &NodeName) -> bool {
        let can = self.can_report(node);
        if can && let Some(report) = self.report_of(node) {
            self.bump();
            self.node_reports.insert(node.clone(), report);
        }
        can
    }

    /// Would [`Self::report`] change anything?
    pub fn can_report(&self, node: &NodeName) -> bool {
        let report = self.report_of(node);
        report.is_some() && report.as_ref() != self.node_reports.get(node)
    }

    fn report_of(&self, node: &NodeName) -> Option<NodeReport> {
        let kernel = self.node_parts.kernels.get(node)?;
        Some(NodeReport {
            node: node.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            boot: self.nodes.get(node).and_then(|node| node.boot),
            heartbeat: 0,
            addresses: kernel.clone(),
        })
    }

    fn desired_kernel(&self, node: &NodeName) -> Kernel {
        let entries = self.ips.values().filter_map(|ip| self.entry(ip, node));
        entries.collect()
    }

    fn entry(&self, ip: &Ip, node: &NodeName) -> Option<(IpName, AddressReport)> {
        if !self.asks_for_node_part(ip) {
            return None;
        }
        let claim = ip.status.claim.as_ref().filter(|claim| claim.recorded())?;
        if &claim.target()?.node != node {
            return None;
        }
        let state = if ip.status.mac.is_none() {
            AddressState::NotProgrammed(
                "the IP's status has no MAC of the network interface yet".to_owned(),
            )
        } else if self.pod(&claim.pod, &claim.uid).is_none() {
            AddressState::NotProgrammed("the pod is not seen on this node".to_owned())
        } else {
            AddressState::Programmed
        };
        let report = AddressReport {
            address: ip.status.address?,
            pod: claim.uid.clone(),
            claim: claim.id,
            state,
            probe: None,
        };
        Some((ip.name.clone(), report))
    }
}
