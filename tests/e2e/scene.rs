//! A scene: a namespace, a subnet with a block of addresses, and nodes, none of which any other scene touches.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mooring_cluster::{
    Cluster, ClusterOptions, Ec2, Mooring, MooringOptions, Mutation, Node, NodeSpec, Output,
    Subnet, Toxiproxy,
};

use crate::world::World;

/// How long a promise that needs no more than a few calls may take; two cores carry many scenes.
pub const SOON: Duration = Duration::from_secs(30);
/// How long one may take that waits until Kubernetes has noticed a dead node (20 s here), or a deleted one (its
/// garbage collector looks every 20 s, and waits for 40 s in between).
pub const AFTER_NODE_DEATH: Duration = Duration::from_secs(150);

/// Where a promise is played.
pub struct Scene {
    /// The namespace; also how every name outside of it begins.
    pub name: String,
    /// Clients of this scene's runtime.
    pub client: kube::Client,
    /// The subnet of its block, a /24.
    pub subnet: Subnet,
    pub world: Arc<World>,
    /// The /24's of this scene, as `10.100.7.`
    pub(crate) prefixes: Mutex<Vec<String>>,
    pub(crate) ips: Mutex<Vec<String>>,
    pub(crate) blocks: Mutex<Vec<String>>,
    pub(crate) nodes: Mutex<Vec<String>>,
    /// Sequence numbers in EC2's history of what the scene did with a foreign hand.
    pub(crate) foreign: Mutex<BTreeSet<u64>>,
    pub(crate) attached: AtomicBool,
    /// An API server that starts again refuses everything until it has read the roles.
    pub rights_were_away: AtomicBool,
    pub(crate) audit_mark: u64,
    /// They last as long as the Moorings behind them, which clean up.
    networks: Mutex<Vec<Arc<Toxiproxy>>>,
    shared: bool,
}

/// An IP of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ip {
    /// The object's name.
    pub name: String,
    /// Its address; empty until it is allocated, see [`Scene::allocated`].
    pub address: String,
}

impl Scene {
    pub(crate) async fn shared(title: &str) -> Self {
        Self::open(World::shared().await, title, true).await
    }

    pub(crate) async fn alone(title: &str) -> Self {
        Self::open(Arc::new(World::alone().await), title, false).await
    }

    pub(crate) async fn alone_in(title: &str, options: ClusterOptions) -> Self {
        Self::open(Arc::new(World::of(options).await), title, false).await
    }

    async fn open(world: Arc<World>, title: &str, shared: bool) -> Self {
        let number = world.cluster.next_number();
        let title = title.rsplit("::").next().unwrap_or(title).replace('_', "-");
        let title: String = title.chars().take(36).collect();
        let name = format!("{}-{number}", title.trim_end_matches('-'));
        let (_, audit_mark) = world.cluster.audit_since(u64::MAX);
        world.cluster.add_namespace(&name).await;
        let (subnet, prefix) = fresh_subnet(&world.cluster).await;
        Self {
            client: world.cluster.client().await,
            subnet,
            world,
            prefixes: Mutex::new(vec![prefix]),
            ips: Mutex::default(),
            blocks: Mutex::default(),
            nodes: Mutex::default(),
            foreign: Mutex::default(),
            attached: AtomicBool::new(false),
            rights_were_away: AtomicBool::new(false),
            audit_mark,
            networks: Mutex::default(),
            shared,
            name,
        }
    }

    pub(crate) async fn close(self) {
        if let (false, Ok(world)) = (self.shared, Arc::try_unwrap(self.world)) {
            world.give_back().await;
        }
    }

    pub fn cluster(&self) -> &Cluster {
        &self.world.cluster
    }

    pub fn ec2(&self) -> &Ec2 {
        self.world.cluster.ec2()
    }

    /// Starts Mooring in a cluster of the scene's own, with an inventory every second.
    pub async fn mooring(&self) -> Arc<Mooring> {
        self.mooring_with(MooringOptions::default()).await
    }

    /// Starts Mooring in a cluster of the scene's own.
    pub async fn mooring_with(&self, options: MooringOptions) -> Arc<Mooring> {
        assert!(!self.shared, "the shared cluster has a Mooring");
        self.world.mooring(options).await
    }

    /// A network that can fail, to put between Mooring and whom it asks.
    pub async fn network(&self) -> Arc<Toxiproxy> {
        let network = Arc::new(Toxiproxy::start(self.cluster()).await);
        self.networks.lock().unwrap().push(Arc::clone(&network));
        network
    }

    /// A name outside of the namespace.
    pub fn named(&self, name: &str) -> String {
        format!("{}-{name}", self.name)
    }

    /// The address of that number in the scene's subnet.
    pub fn address(&self, host: u8) -> String {
        format!("{}{host}", self.prefixes.lock().unwrap()[0])
    }

    /// kubectl in the scene's namespace, words separated by blanks.
    pub async fn kubectl(&self, arguments: &str) -> Output {
        let words = ["-n", &self.name]
            .into_iter()
            .chain(arguments.split_whitespace())
            .map(str::to_owned);
        self.cluster().kubectl(words.collect::<Vec<_>>()).await
    }

    /// A node with an interface in the scene's subnet.
    pub async fn node(&self, name: &str) -> Node {
        let spec = NodeSpec::new(name).interface(&self.subnet);
        self.node_of(spec).await
    }

    /// A node; its name gets the scene's before it.
    pub async fn node_of(&self, mut spec: NodeSpec) -> Node {
        spec.name = self.named(&spec.name);
        self.nodes.lock().unwrap().push(spec.name.clone());
        self.cluster().add_node(spec).await
    }

    /// A Node that a kubelet registers for the instance of another node; the scene's name goes before its own.
    pub async fn node_of_kubelet(&self, mut spec: NodeSpec, of: &Node) -> Node {
        spec.name = self.named(&spec.name);
        self.nodes.lock().unwrap().push(spec.name.clone());
        let node = Node {
            name: spec.name.clone(),
            ..of.clone()
        };
        self.cluster().register_as_kubelet(&node, &spec).await;
        node
    }

    /// One more subnet, and how the addresses in it begin.
    pub async fn another_subnet(&self) -> (Subnet, String) {
        let (subnet, prefix) = fresh_subnet(self.cluster()).await;
        self.prefixes.lock().unwrap().push(prefix.clone());
        (subnet, prefix)
    }

    /// Puts an address on an interface as somebody else would; the judge passes over it.
    pub async fn foreign_assign(&self, interface: &str, address: &str) {
        self.ec2().assign(interface, address).await;
        self.pass_over(interface, address, "AssignPrivateIpAddresses")
            .await;
    }

    /// Takes an address off an interface as somebody else would; the judge passes over it.
    pub async fn foreign_unassign(&self, interface: &str, address: &str) {
        self.ec2().unassign(interface, address).await;
        self.pass_over(interface, address, "UnassignPrivateIpAddresses")
            .await;
    }

    /// The calls that the judge passes over, in order.
    pub async fn late_calls(&self) -> Vec<Mutation> {
        let mut mutations = self.mutations().await;
        let passed_over = self.foreign.lock().unwrap().clone();
        mutations.retain(|mutation| passed_over.contains(&mutation.sequence));
        mutations
    }

    /// The latest call of this kind was none that the judge has to explain: a foreign hand's, or one that came late.
    pub async fn pass_over(&self, interface: &str, address: &str, action: &str) {
        let history = self.ec2().history_of(address).await;
        let ours = history.iter().rfind(|mutation| {
            mutation.action == action && mutation.network_interface_id.as_deref() == Some(interface)
        });
        let sequence = ours.expect("it was just done").sequence;
        self.foreign.lock().unwrap().insert(sequence);
    }
}

/// A subnet that no other scene of this cluster has, and how the addresses in it begin.
async fn fresh_subnet(cluster: &Cluster) -> (Subnet, String) {
    let number = cluster.next_number();
    let prefix = format!("10.{}.{}.", 100 + number / 256, number % 256);
    (cluster.add_subnet(&format!("{prefix}0/24")).await, prefix)
}
