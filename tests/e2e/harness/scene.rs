//! A scene: a namespace, a subnet with a block of addresses, and nodes. No other scene changes them.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mooring_cluster::{
    Cluster, ClusterOptions, Ec2, Mooring, MooringOptions, Mutation, Node, NodeSpec, Output,
    Subnet, Toxiproxy,
};

use crate::harness::clusters::TestCluster;

/// The time limit of an expectation that needs only a few calls. It is long because many scenes share two cores.
pub const SOON: Duration = Duration::from_secs(30);
/// The time limit of an expectation that needs Kubernetes to detect a failed node (20 s here) or a deleted node (its
/// garbage collector runs every 20 s, and waits for 40 s in between).
pub const AFTER_NODE_FAILURE: Duration = Duration::from_secs(150);

/// The environment of one end-to-end test.
pub struct Scene {
    /// The namespace. It is also the prefix of the names of cluster-scoped objects.
    pub name: String,
    /// The client of the runtime of this scene.
    pub client: kube::Client,
    /// The subnet of its block, a `/24`.
    pub subnet: Subnet,
    pub test_cluster: Arc<TestCluster>,
    /// The subnets of this scene, as prefixes such as `10.100.7.`
    pub(crate) prefixes: Mutex<Vec<String>>,
    pub(crate) ips: Mutex<Vec<String>>,
    pub(crate) blocks: Mutex<Vec<String>>,
    pub(crate) nodes: Mutex<Vec<String>>,
    /// The sequence numbers (in the history of EC2) of calls that the scene made as a foreign client.
    pub(crate) foreign: Mutex<BTreeSet<u64>>,
    pub(crate) attached: AtomicBool,
    /// If true, the judge ignores forbidden requests of Mooring: after a restart the API server refuses all requests
    /// until it has read the roles.
    pub rights_were_away: AtomicBool,
    pub(crate) audit_mark: u64,
    /// The networks must exist until the end of the scene, because Mooring uses them during the clean-up.
    networks: Mutex<Vec<Arc<Toxiproxy>>>,
    shared: bool,
}

/// An IP of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ip {
    /// The name of the object.
    pub name: String,
    /// Its address; empty until it is allocated, see [`Scene::allocated`].
    pub address: String,
}

impl Scene {
    pub(crate) async fn shared(title: &str) -> Self {
        Self::open(TestCluster::shared().await, title, true).await
    }

    pub(crate) async fn alone(title: &str) -> Self {
        Self::open(Arc::new(TestCluster::alone().await), title, false).await
    }

    pub(crate) async fn alone_in(title: &str, options: ClusterOptions) -> Self {
        Self::open(Arc::new(TestCluster::of(options).await), title, false).await
    }

    async fn open(test_cluster: Arc<TestCluster>, title: &str, shared: bool) -> Self {
        let number = test_cluster.cluster.next_number();
        let title = title.rsplit("::").next().unwrap_or(title).replace('_', "-");
        let title: String = title.chars().take(36).collect();
        let name = format!("{}-{number}", title.trim_end_matches('-'));
        let (_, audit_mark) = test_cluster.cluster.audit_since(u64::MAX);
        test_cluster.cluster.add_namespace(&name).await;
        let (subnet, prefix) = fresh_subnet(&test_cluster.cluster).await;
        Self {
            client: test_cluster.cluster.client().await,
            subnet,
            test_cluster,
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
        if let (false, Ok(test_cluster)) = (self.shared, Arc::try_unwrap(self.test_cluster)) {
            test_cluster.give_back().await;
        }
    }

    pub fn cluster(&self) -> &Cluster {
        &self.test_cluster.cluster
    }

    pub fn ec2(&self) -> &Ec2 {
        self.test_cluster.cluster.ec2()
    }

    /// Starts Mooring in the separate cluster of the scene, with an inventory every second.
    pub async fn mooring(&self) -> Arc<Mooring> {
        self.mooring_with(MooringOptions::default()).await
    }

    /// Starts Mooring in the separate cluster of the scene.
    pub async fn mooring_with(&self, options: MooringOptions) -> Arc<Mooring> {
        assert!(!self.shared, "the shared cluster has a Mooring");
        self.test_cluster.mooring(options).await
    }

    /// A network that can fail, between Mooring and the API server or EC2.
    pub async fn network(&self) -> Arc<Toxiproxy> {
        let network = Arc::new(Toxiproxy::start(self.cluster()).await);
        self.networks.lock().unwrap().push(Arc::clone(&network));
        network
    }

    /// The name of a cluster-scoped object.
    pub fn named(&self, name: &str) -> String {
        format!("{}-{name}", self.name)
    }

    /// The address with this number in the subnet of the scene.
    pub fn address(&self, host: u8) -> String {
        format!("{}{host}", self.prefixes.lock().unwrap()[0])
    }

    /// Runs kubectl in the namespace of the scene; the arguments are separated by blanks.
    pub async fn kubectl(&self, arguments: &str) -> Output {
        let words = ["-n", &self.name]
            .into_iter()
            .chain(arguments.split_whitespace())
            .map(str::to_owned);
        self.cluster().kubectl(words.collect::<Vec<_>>()).await
    }

    /// Whether RBAC allows this user to do this, such as `list pods -A`.
    pub async fn can(&self, user: &str, what: &str) -> bool {
        let output = self
            .kubectl(&format!("auth can-i {what} --as={user}"))
            .await;
        match output.stdout.trim() {
            "yes" => true,
            "no" => false,
            _ => panic!("{user}, {what}: {output:?}"),
        }
    }

    /// A node with an interface in the subnet of the scene.
    pub async fn node(&self, name: &str) -> Node {
        let spec = NodeSpec::new(name).interface(&self.subnet);
        self.node_of(spec).await
    }

    /// A node; the name of the scene is put before its name.
    pub async fn node_of(&self, mut spec: NodeSpec) -> Node {
        spec.name = self.named(&spec.name);
        self.nodes.lock().unwrap().push(spec.name.clone());
        self.cluster().add_node(spec).await
    }

    /// A Node that a kubelet registers with the instance of another node; the name of the scene is put before its name.
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

    /// One more subnet, and the prefix of its addresses.
    pub async fn another_subnet(&self) -> (Subnet, String) {
        let (subnet, prefix) = fresh_subnet(self.cluster()).await;
        self.prefixes.lock().unwrap().push(prefix.clone());
        (subnet, prefix)
    }

    /// Assigns an address as a foreign client; the judge ignores the call.
    pub async fn foreign_assign(&self, interface: &str, address: &str) {
        self.ec2().assign(interface, address).await;
        self.pass_over(interface, address, "AssignPrivateIpAddresses")
            .await;
    }

    /// Unassigns an address as a foreign client; the judge ignores the call.
    pub async fn foreign_unassign(&self, interface: &str, address: &str) {
        self.ec2().unassign(interface, address).await;
        self.pass_over(interface, address, "UnassignPrivateIpAddresses")
            .await;
    }

    /// The calls that the judge ignores, in order.
    pub async fn late_calls(&self) -> Vec<Mutation> {
        let mut mutations = self.mutations().await;
        let passed_over = self.foreign.lock().unwrap().clone();
        mutations.retain(|mutation| passed_over.contains(&mutation.sequence));
        mutations
    }

    /// Makes the judge ignore the latest such call: a foreign client made it, or it was executed late.
    pub async fn pass_over(&self, interface: &str, address: &str, action: &str) {
        let history = self.ec2().history_of(address).await;
        let ours = history.iter().rfind(|mutation| {
            mutation.action == action && mutation.network_interface_id.as_deref() == Some(interface)
        });
        let sequence = ours.expect("the call is in the history").sequence;
        self.foreign.lock().unwrap().insert(sequence);
    }

    /// Makes the judge ignore calls that EC2 refused: with two active controllers, the second call is refused and
    /// changes nothing.
    pub async fn pass_over_refused(&self) {
        let refused = self.mutations().await.into_iter();
        let refused = refused.filter(|mutation| mutation.result != "Success");
        let mut foreign = self.foreign.lock().unwrap();
        foreign.extend(refused.map(|mutation| mutation.sequence));
    }
}

/// A subnet that no other scene of this cluster has, and the prefix of its addresses.
async fn fresh_subnet(cluster: &Cluster) -> (Subnet, String) {
    let number = cluster.next_number();
    let prefix = format!("10.{}.{}.", 100 + number / 256, number % 256);
    (cluster.add_subnet(&format!("{prefix}0/24")).await, prefix)
}
