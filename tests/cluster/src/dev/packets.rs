//! The packets of the demo: three nodes with their node parts in network namespaces, and a partner whose firewall
//! accepts one address.

use std::collections::BTreeMap;
use std::time::Duration;

use mooring_cluster::network::{Api, Backend, Node, NodePart, PARTNER, Protocol, World as Network};
use mooring_cluster::{Cluster, wait};

use crate::world::NODES;

/// The network of the partner, for `spec.node.routes`.
pub(crate) const PARTNERS: &str = "198.51.100.0/24";
/// Pods have addresses of the VPC, as with the AWS VPC CNI.
pub(crate) const POD_CIDR: &str = "10.77.0.64/26";

const LIMIT: Duration = Duration::from_secs(10);
const EVIDENCE: &str =
    "ip -4 addr; ip rule; ip route show table all; nft list ruleset; conntrack -L 2>&1 || true";

/// The network, and what runs in it.
pub(crate) struct Packets {
    address: &'static str,
    network: &'static Network,
    nodes: BTreeMap<&'static str, Node<'static>>,
    parts: BTreeMap<&'static str, NodePart>,
    /// The nodes by the ID of their interface.
    interfaces: BTreeMap<String, &'static str>,
    /// The namespaces of pods, by the node and the address of the pod.
    pods: BTreeMap<(String, String), String>,
    on: Option<&'static str>,
}

impl Packets {
    /// Makes the network, and starts a node part on each node.
    pub(crate) async fn start(
        cluster: &Cluster,
        interfaces: &[String],
        address: &'static str,
    ) -> Result<Self, String> {
        // The process runs as long as the demo.
        let network: &'static Network = Box::leak(Box::new(Network::new(Backend::Nft)));
        network.whitelist(address);
        network.serve("partner", PARTNER);
        let api = Api {
            world: network,
            at: None,
            folder: cluster.folder().display().to_string(),
        };
        api.install_node_part();
        let port = cluster.url().rsplit(':').next();
        let port = port.and_then(|port| port.parse().ok());
        let port = port.ok_or("the URL of the API server has no port")?;
        let mut nodes = BTreeMap::new();
        let mut parts = BTreeMap::new();
        let mut of_nodes = BTreeMap::new();
        for (name, interface) in NODES.into_iter().zip(interfaces) {
            nodes.insert(name, network.node(name));
            let mac = cluster.ec2().mac_of(interface).await;
            network.run(name, &format!("ip link set eth1 address {mac}"));
            api.reachable_from(name, port);
            api.authorize_node_part(name);
            parts.insert(name, api.start_node_part(name));
            of_nodes.insert(interface.clone(), name);
        }
        Ok(Self {
            address,
            network,
            nodes,
            parts,
            interfaces: of_nodes,
            pods: BTreeMap::new(),
            on: None,
        })
    }

    /// Ends the node part of a node that has ended.
    pub(crate) fn node_ends(&mut self, node: &str) {
        self.parts.remove(node);
    }

    /// Connects the pod to the partner with the static address, and the partner to the pod. Returns the source
    /// addresses that the two have seen.
    pub(crate) async fn connect(
        &mut self,
        cluster: &Cluster,
        node: &str,
        pod: &str,
    ) -> Result<[String; 2], String> {
        self.deliver(cluster).await;
        let pod = self.plug(node, pod)?;
        let ask = |from: &str, to: &str, expected: &str| {
            let seen = self.network.ask(from, Protocol::Tcp, to)?;
            if seen == expected {
                Ok(seen)
            } else {
                Err(seen)
            }
        };
        let out = wait(LIMIT, || async { ask(&pod, PARTNER, self.address) }).await;
        let back = wait(LIMIT, || async { ask("partner", self.address, PARTNER) }).await;
        match (out, back) {
            (Ok(out), Ok(back)) => Ok([out, back]),
            (out, back) => Err(format!(
                "from the pod: {out:?}, from the partner: {back:?}\n{}",
                self.network.run(node, EVIDENCE)
            )),
        }
    }

    /// The result of a connection from a program of the node to the partner, without a static address.
    pub(crate) fn ask_from_node(&self, node: &str) -> Result<String, String> {
        self.network.ask(node, Protocol::Tcp, PARTNER)
    }

    /// Updates the router of the VPC to the assignments in EC2.
    async fn deliver(&mut self, cluster: &Cluster) {
        let now = cluster.ec2().address_on(self.address).await;
        let now = now.and_then(|interface| self.interfaces.get(&interface).copied());
        self.network.deliver(self.address, &mut self.on, now);
    }

    /// The namespace of a pod. It is made if it does not exist.
    fn plug(&mut self, node: &str, address: &str) -> Result<String, String> {
        let key = (node.to_owned(), address.to_owned());
        if let Some(pod) = self.pods.get(&key) {
            return Ok(pod.clone());
        }
        let node = self.nodes.get(node);
        let node = node.ok_or_else(|| "the pod is on no node of the demo".to_owned())?;
        let pod = format!("pod{}", self.pods.len());
        node.pod(&pod, address);
        self.pods.insert(key, pod.clone());
        Ok(pod)
    }
}
