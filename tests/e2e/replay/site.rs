//! The environment of replays: pairs of nodes, a block with room for many, and a proxy between Mooring and the API
//! server. Every replay gets its own IP and pods, and its own block if the story is about blocks.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::future::join_all;
use mooring_cluster::{Mooring, MooringOptions, Node, NodeSpec, ProxiedWrite, Proxy, Subnet};
use serde_json::json;
use tokio::sync::{Mutex, OnceCell};

use super::story::{LONG, Story};
use crate::harness::scene::{Ip, Scene};

/// The first addresses of the subnet stay free.
const FIRST: u32 = 64;
/// The first half of the subnet is the block that replays share. The second half is for the blocks of single replays.
const HALF: u32 = 2048;
/// The number of addresses of a replay in the shared block.
const OF_A_LOT: u32 = 4;
/// The number of addresses in the block of a single replay.
const OF_A_BLOCK: u32 = 8;

/// The state that all replays of a scene share.
pub struct Site<'a> {
    pub scene: &'a Scene,
    pub proxy: Proxy,
    pub mooring: Mutex<Arc<Mooring>>,
    subnet: Subnet,
    /// The first address of the subnet.
    base: u32,
    /// Each replay of a round has its own pair of nodes, because addresses on one interface would share a call and its
    /// fault.
    pairs: Vec<(Node, Node)>,
    lots: AtomicU32,
}

impl<'a> Site<'a> {
    /// Creates the nodes, and starts Mooring behind a proxy.
    pub async fn open(scene: &'a Scene, pairs: usize) -> Self {
        let number = scene.cluster().next_number();
        let (second, third) = (200 + number / 16 % 50, number % 16 * 16);
        let subnet = scene
            .cluster()
            .add_subnet(&format!("10.{second}.{third}.0/20"))
            .await;
        let prefixes = (third..third + 16).map(|third| format!("10.{second}.{third}."));
        scene.prefixes.lock().unwrap().extend(prefixes);
        let node = async |name: &str| {
            let spec = NodeSpec::new(name).instance_type("c5.24xlarge");
            scene.node_of(spec.interface(&subnet)).await
        };
        let pairs = (0..pairs).map(async |number| {
            // The stories of blocks use only the first pair, so the names in their writes are the same in each replay.
            let name = |name: &str| match number {
                0 => name.to_owned(),
                number => format!("{name}{number}"),
            };
            let (here, there) = (name("here"), name("there"));
            tokio::join!(node(&here), node(&there))
        });
        let pairs = join_all(pairs).await;
        let proxy = Proxy::start(scene.cluster()).await;
        let mooring = start(scene, &proxy).await;
        let cidr = json!({"cidr": format!("10.{second}.{third}.0/21")});
        let block = scene.block_in("shared", &subnet, &cidr).await;
        for (here, there) in &pairs {
            scene.expect_labelled(&here.name, &block).await;
            scene.expect_labelled(&there.name, &block).await;
        }
        Self {
            base: (10 << 24) + (second << 16) + (third << 8),
            scene,
            proxy,
            mooring: Mutex::new(mooring),
            subnet,
            pairs,
            lots: AtomicU32::new(0),
        }
    }

    /// Sends SIGKILL. The process has ended when this returns.
    pub async fn kill9(&self) {
        self.mooring.lock().await.kill9();
    }

    /// Starts a new process in place of the killed one.
    pub async fn start_again(&self) {
        *self.mooring.lock().await = start(self.scene, &self.proxy).await;
    }

    /// Ends the proxy, and starts a Mooring without it for the clean-up of the scene.
    pub async fn close(self) {
        self.kill9().await;
        let options = MooringOptions {
            leader_elect: false,
            ..MooringOptions::default()
        };
        self.scene.mooring_with(options).await;
    }

    /// Allocates new names and addresses for a replay.
    pub fn lot(&'a self, story: Story) -> Lot<'a> {
        let number = self.lots.fetch_add(1, Ordering::Relaxed);
        let first = self.base + FIRST + OF_A_LOT * number;
        let own = Ipv4Addr::from(self.base + HALF + OF_A_BLOCK * number);
        let app = format!("w{number:03}");
        let names = Names {
            namespace: self.scene.name.clone(),
            ip: self.scene.named(&app),
            block: self.scene.named(&app),
            addresses: [first, first + 1].map(|address| Ipv4Addr::from(address).to_string()),
            app,
        };
        let (here, there) = &self.pairs[number as usize % self.pairs.len()];
        Lot {
            site: self,
            here,
            there,
            story,
            cidr: format!("{own}/29"),
            old: OnceCell::new(),
            names,
        }
    }
}

/// Starts Mooring without a lease, so that it leads at once and a restart takes no extra time.
async fn start(scene: &Scene, proxy: &Proxy) -> Arc<Mooring> {
    let options = MooringOptions {
        leader_elect: false,
        api_server: Some(proxy.url().to_owned()),
        ..MooringOptions::default()
    };
    scene.mooring_with(options).await
}

/// The names of the objects of a replay.
#[derive(Clone, Debug)]
pub struct Names {
    namespace: String,
    /// The prefix of the names of its pods; also the name of its Deployment or of its single pod.
    pub app: String,
    pub ip: String,
    pub block: String,
    /// The address of the IP, and the address after an edit.
    pub addresses: [String; 2],
}

impl Names {
    /// Does the write belong to this replay?
    pub fn own(&self, write: &ProxiedWrite) -> bool {
        match write.resource.as_str() {
            "ips" => write.name == self.ip,
            "ipblocks" => write.name == self.block,
            "ipaddresses" => self.addresses.contains(&write.name),
            "pods" => write.namespace == self.namespace && write.name.starts_with(&self.app),
            "nodes" => {
                let label = format!("ip.wgtwo.com.node-restriction.kubernetes.io/{}", self.block);
                write.body["metadata"]["labels"].get(label).is_some()
            }
            _ => false,
        }
    }

    /// The role of the object in the replay.
    pub fn role(&self, write: &ProxiedWrite) -> String {
        match write.resource.as_str() {
            "nodes" => write.name.rsplit('-').next().unwrap_or_default().to_owned(),
            "ipaddresses" => self.role_of_address(&write.name).to_owned(),
            _ => String::new(),
        }
    }

    /// The role of an address: the first, or the second one after an edit.
    pub fn role_of_address(&self, address: &str) -> &'static str {
        if address == self.addresses[0] {
            "first"
        } else {
            "second"
        }
    }
}

/// The objects of one replay.
pub struct Lot<'a> {
    pub site: &'a Site<'a>,
    pub here: &'a Node,
    pub there: &'a Node,
    pub story: Story,
    pub names: Names,
    cidr: String,
    /// The first holder of the address.
    pub old: OnceCell<String>,
}

impl Lot<'_> {
    pub fn scene(&self) -> &Scene {
        self.site.scene
    }

    /// The IP of the replay.
    pub fn ip(&self) -> Ip {
        Ip {
            name: self.names.ip.clone(),
            address: self.names.addresses[0].clone(),
        }
    }

    /// Creates the block of this replay, without waiting.
    pub async fn make_block(&self) {
        let name = self.names.block.clone();
        self.scene().blocks.lock().unwrap().push(name.clone());
        let spec =
            json!({"cidr": self.cidr, "subnetID": self.site.subnet.id, "failoverAfter": "1s"});
        let block = json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock",
            "metadata": {"name": name}, "spec": spec});
        self.scene().cluster().apply(&block.to_string()).await;
    }

    /// Waits until the block is ready and both nodes have its label.
    pub async fn expect_block(&self) {
        let scene = self.scene();
        scene
            .expect_condition("IPBlock", &self.names.block, "Ready", "True")
            .await;
        for node in [self.here, self.there] {
            scene.expect_labelled(&node.name, &self.names.block).await;
        }
    }

    /// Deletes the objects of the replay, and waits until its IP is gone, so that the next kill does not interrupt the
    /// deletion.
    pub async fn take_away(&self) {
        let now = kube::api::DeleteParams::default().grace_period(0);
        let pods = self.scene().pods_of(&self.names.app).await;
        let mut objects = vec![("Deployment", self.names.app.clone())];
        objects.extend(pods.into_iter().map(|(name, _)| ("Pod", name)));
        objects.push(("IP", self.names.ip.clone()));
        objects.push(("IPBlock", self.names.block.clone()));
        for (kind, name) in objects {
            // The story can have deleted the object already.
            let _ = self.scene().api(kind).delete(&name, &now).await;
        }
        let sentence = format!("nothing is left of {}", self.names.ip);
        self.scene()
            .eventually(&sentence, LONG, async || {
                self.scene().get("IP", &self.names.ip).await.is_none()
            })
            .await;
    }
}

/// Deletes the objects of all these replays.
pub async fn take_away(lots: &[Lot<'_>]) {
    join_all(lots.iter().map(Lot::take_away)).await;
}
