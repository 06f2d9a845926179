//! Reads the objects of the cluster: IPs and blocks from caches, others when a review needs them. Reviews that need the
//! same object at the same time share one read, and the number of concurrent reads is limited.
//! Rules: R8.23, R8.26.

mod rights;

use std::error::Error as StdError;
use std::hash::Hash;
use std::sync::Arc;

use futures::FutureExt as _;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::networking::v1::IPAddress;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::{Client, Resource};
use mooring_plan::address::Address;
use mooring_plan::admission::address::Parent;
use mooring_plan::admission::syntax::is_dns_name;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Caches;
use super::caches::read_block;
use super::cluster_reader::READ_TIMEOUT;
use super::known_objects::readable;
use super::single_flight::{SingleFlight, SingleFlightBy};
use super::{BoundNode, ClusterReader, Dependencies, KnownIp, Snapshot, Unreadable};
use crate::api::read::{Reduced, Whole, reservation};
use crate::api::request::with_timeout;
use crate::api::{Ip, IpBlock, watching};
use crate::telemetry::chain;

/// The most concurrent reads. More would not be answered sooner, and would delay the requests of the controller.
const READS: usize = 32;

/// The most objects in a page of a list. A review waits for all pages, one after the other, and most of the time of a
/// small page is not its objects. At most two lists of a kind run at a time, so larger pages take little memory.
const PAGE: u32 = 500;

/// The result of a read of an `IP`.
#[derive(Clone, Debug, Default)]
enum IpSeen {
    /// There was no read, or the API server did not answer in time.
    #[default]
    Unknown,
    /// The API server answered with this error.
    Failed(String),
    /// The present version. None: no IP has this name.
    Now(Option<Arc<KnownIp>>),
}

/// Reads objects from caches and from the API server.
#[derive(Clone)]
pub struct KubeReader {
    client: Client,
    caches: Caches,
    all_ips: SingleFlight<Vec<Arc<KnownIp>>>,
    all_blocks: SingleFlight<Vec<Arc<IpBlock>>>,
    nodes: SingleFlightBy<String, BoundNode>,
    parents: SingleFlightBy<Address, Option<Parent>>,
    ips: SingleFlightBy<String, IpSeen>,
    turns: Arc<Semaphore>,
}

impl KubeReader {
    /// Creates a reader for these caches and this API server.
    #[must_use]
    pub fn new(client: Client, caches: Caches) -> Self {
        let turns = Arc::new(Semaphore::new(READS));
        let of_all = || Arc::clone(&turns);
        Self {
            client,
            caches,
            all_ips: SingleFlight::new(of_all()),
            all_blocks: SingleFlight::new(of_all()),
            nodes: SingleFlightBy::new(of_all()),
            parents: SingleFlightBy::new(of_all()),
            ips: SingleFlightBy::new(of_all()),
            turns,
        }
    }

    /// Lists all IPs from the API server. Reviews that need them at the same time share one list.
    async fn all_ips(&self) -> Result<Vec<Arc<KnownIp>>, Unreadable> {
        let client = self.client.clone();
        let list = async move { list::<Ip, _, _>(&client, "the IPs", KnownIp::read).await };
        // Boxed, because otherwise each future that waits for the list contains the large request future.
        self.all_ips.or(list.boxed()).await
    }

    /// As [`Self::all_ips`], for blocks.
    async fn all_blocks(&self) -> Result<Vec<Arc<IpBlock>>, Unreadable> {
        let client = self.client.clone();
        let list = async move { list::<IpBlock, _, _>(&client, "the IPBlocks", read_block).await };
        self.all_blocks.or(list.boxed()).await
    }

    /// The IPs that a review depends on, from the API server: all, or for a pod only the one that its annotation means.
    /// So the review of a pod does not take longer where there are many IPs.
    async fn ips_now(&self, annotation: Option<&str>) -> Result<Vec<Arc<KnownIp>>, Unreadable> {
        let Some(annotation) = annotation else {
            return self.all_ips().await;
        };
        if let Some(named) = self.named_now(annotation).await? {
            return Ok(vec![named]);
        }
        let Ok(address) = annotation.parse::<Address>() else {
            return Ok(Vec::new());
        };
        if let Some(Parent::Ip(owner)) = self.parent(Some(address)).await
            && let Some(owner) = self.named_now(owner.as_str()).await?
            && owner.reserved == Some(address)
        {
            return Ok(vec![owner]);
        }
        // The address is not reserved yet, so any IP can be the one that asks for it.
        self.all_ips().await
    }

    /// The `IP` of this name from the API server. None: there is none.
    async fn named_now(&self, name: &str) -> Result<Option<Arc<KnownIp>>, Unreadable> {
        // The text is from a user and becomes a part of a path: it must not name another path.
        if !is_dns_name(name) {
            return Ok(None);
        }
        let failed = |why: String| Unreadable {
            what: "the IP that the pod asks for",
            source: why.into(),
        };
        match self.ip(name).await {
            IpSeen::Now(now) => Ok(now),
            IpSeen::Failed(why) => Err(failed(why)),
            IpSeen::Unknown => Err(failed(format!("no answer within {READ_TIMEOUT:?}"))),
        }
    }

    /// A read that is shared by all callers that wait for the same object. Returns the default value if the read, or
    /// the wait of this caller, takes longer than [`READ_TIMEOUT`].
    async fn read_once<K, T>(
        shared: &SingleFlightBy<K, T>,
        key: K,
        read: impl Future<Output = T> + Send + 'static,
    ) -> T
    where
        K: Eq + Hash,
        T: Clone + Default + Send + Sync + 'static,
    {
        // Box the future first: otherwise each future that awaits it contains the large request future, twice.
        in_time(shared.or(key, in_time(read).boxed())).await
    }

    /// Reads the Node. `Unknown` if it cannot be read in time, or if no Node can have this name.
    async fn node(&self, name: Option<&str>) -> BoundNode {
        let Some(name) = name.map(str::to_owned) else {
            return BoundNode::Unknown;
        };
        // The text is from a user and becomes a part of a path. The API server refuses such a pod itself, after the
        // mutating review, so that no message of Mooring repeats a text of any length.
        if !is_dns_name(&name) {
            return BoundNode::Unknown;
        }
        let nodes: Api<Node> = Api::all(self.client.clone());
        let wanted = name.clone();
        let read = async move {
            match nodes.get_metadata_opt(&wanted).await {
                Ok(Some(node)) => BoundNode::Labelled(node.metadata.labels.unwrap_or_default()),
                Ok(None) => BoundNode::Absent,
                Err(_) => BoundNode::Unknown,
            }
        };
        Self::read_once(&self.nodes, name, read).await
    }

    /// Reads the owner of the address. An IP that does not exist any more is none: the controller frees its reservation
    /// for another IP (R2.11). None too if it cannot be read in time: the controller checks it again.
    async fn owner(&self, address: Option<Address>) -> Option<Parent> {
        let owner = async {
            let parent = self.parent(address).await?;
            let gone = match &parent {
                Parent::Ip(name) => matches!(self.named_now(name.as_str()).await, Ok(None)),
                Parent::Else(_) => false,
            };
            (!gone).then_some(parent)
        };
        // Boxed, because it contains two reads.
        in_time(owner.boxed()).await
    }

    /// Reads the parent of the `IPAddress` of the address. None if there is none, or if it cannot be read in time.
    async fn parent(&self, address: Option<Address>) -> Option<Parent> {
        let address = address?;
        let kind = ApiResource::erase::<IPAddress>(&());
        let reservations: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
        let read = async move {
            let object = reservations.get_opt(&address.to_string()).await.ok()??;
            let found = reservation(&object).ok()?;
            let other = Parent::Else(found.parent_text);
            Some(found.parent.map_or(other, Parent::Ip))
        };
        Self::read_once(&self.parents, address, read).await
    }

    /// Reads the `IP` from the API server.
    async fn ip(&self, name: &str) -> IpSeen {
        let ips: Api<Ip> = Api::all(self.client.clone());
        let (name, wanted) = (name.to_owned(), name.to_owned());
        let read = async move {
            let now = ips.get_opt(&wanted).await;
            match now {
                Ok(now) => IpSeen::Now(now.map(|ip| Arc::new(KnownIp::from(&ip)))),
                Err(error) => IpSeen::Failed(chain(&error)),
            }
        };
        Self::read_once(&self.ips, name, read).await
    }
}

/// The value, or the default value after [`READ_TIMEOUT`].
async fn in_time<T: Default>(read: impl Future<Output = T>) -> T {
    timeout(READ_TIMEOUT, read).await.unwrap_or_default()
}

async fn list<K: Resource<DynamicType = ()>, T, E: StdError>(
    client: &Client,
    what: &'static str,
    read: impl Fn(&DynamicObject) -> Result<T, E>,
) -> Result<Vec<Arc<T>>, Unreadable> {
    let api: Api<Reduced<Whole>> = Api::all_with(client.clone(), &ApiResource::erase::<K>(&()));
    let (mut objects, mut params) = (Vec::new(), watching::list().limit(PAGE));
    loop {
        // The callers wait for less. Without a limit here, two lists by a connection without answers would delay all
        // others.
        let page = with_timeout(|| format!("listing {what}"), api.list(&params))
            .await
            .map_err(|error| Unreadable {
                what,
                source: error.into(),
            })?;
        let items = page.items.iter();
        objects.extend(items.filter_map(|object| readable(object.as_ref(), &read)));
        match watching::next_page(&params, page.metadata.continue_) {
            Some(next) => params = next,
            None => return Ok(objects),
        }
    }
}

impl ClusterReader for KubeReader {
    // If the IP cannot be read, its cached UID is used: a replica that cannot reach the API server, or waits for its
    // turn to read, refuses no pod. The controller gives an address only to a pod that has the present UID.
    async fn cached(&self, dependencies: &Dependencies) -> Snapshot {
        // The rule for a pod reads no other IP.
        let snapshot = self.caches.snapshot(dependencies.annotation.as_deref());
        let meant = dependencies
            .annotation
            .as_deref()
            .and_then(|annotation| snapshot.ip_meant(annotation))
            .filter(|ip| dependencies.given.as_deref() != Some(ip.uid.as_str()));
        let meant = meant.map(|ip| ip.name.to_string());
        let ip_now = async {
            match &meant {
                Some(name) => self.ip(name).await,
                None => IpSeen::Unknown,
            }
        };
        let (node, parent, ip_now) = tokio::join!(
            self.node(dependencies.node.as_deref()),
            self.owner(dependencies.address),
            ip_now
        );
        let snapshot = snapshot.with_node(node).with_parent(parent);
        match (meant, ip_now) {
            (Some(name), IpSeen::Now(now)) => snapshot.with_ip_now(&name, now),
            _ => snapshot,
        }
    }

    async fn fresh(&self, dependencies: &Dependencies) -> Result<Snapshot, Unreadable> {
        let (ips, blocks, node, parent) = tokio::join!(
            self.ips_now(dependencies.annotation.as_deref()),
            self.all_blocks(),
            self.node(dependencies.node.as_deref()),
            self.owner(dependencies.address),
        );
        Ok(Snapshot::new(ips?, blocks?)
            .with_node(node)
            .with_parent(parent))
    }
}
