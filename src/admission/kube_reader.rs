//! Reads the objects of the cluster: IPs and blocks from caches, others when a review needs them. Reviews that need the
//! same object at the same time share one read, and the number of concurrent reads is limited.
//! Rules: R8.23, R8.26.

use std::error::Error as StdError;
use std::hash::Hash;
use std::sync::Arc;

use futures::FutureExt as _;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::networking::v1::IPAddress;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::{Client, Resource};
use mooring_plan::address::Address;
use mooring_plan::admission::address::Parent;
use mooring_plan::admission::usage::{Subject, Use};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Caches;
use super::caches::read_block;
use super::cluster_reader::LIMIT;
use super::known_objects::readable;
use super::single_flight::{SingleFlight, SingleFlightBy};
use super::{BoundNode, ClusterReader, Dependencies, KnownIp, Right, Rights, Snapshot, Unreadable};
use crate::api::read::{Reduced, Whole, reservation};
use crate::api::{Ip, IpBlock, names, watching};

/// The most concurrent reads. More would not be answered sooner, and would delay the requests of the controller.
const READS: usize = 32;

/// All IPs and blocks.
type Lists = (Vec<Arc<KnownIp>>, Vec<Arc<IpBlock>>);

/// The result of a read of an `IP`.
#[derive(Clone, Debug, Default)]
enum IpSeen {
    /// There was no read, or the API server did not answer in time.
    #[default]
    Unknown,
    /// The present version. None: no IP has this name.
    Now(Option<Arc<KnownIp>>),
}

/// Reads objects from caches and from the API server.
#[derive(Clone)]
pub struct KubeReader {
    client: Client,
    caches: Caches,
    lists: SingleFlight<Lists>,
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
            lists: SingleFlight::new(of_all()),
            nodes: SingleFlightBy::new(of_all()),
            parents: SingleFlightBy::new(of_all()),
            ips: SingleFlightBy::new(of_all()),
            turns,
        }
    }

    /// Lists all IPs and blocks from the API server. Reviews of many pods that ask for a missing IP share one list.
    async fn lists(&self) -> Result<Lists, Unreadable> {
        let client = self.client.clone();
        let lists = async move {
            tokio::try_join!(
                list::<Ip, _, _>(&client, "the IPs", KnownIp::read),
                list::<IpBlock, _, _>(&client, "the IPBlocks", read_block)
            )
        };
        self.lists.or(lists).await
    }

    /// A read that is shared by all callers that wait for the same object. Returns the default value if the read, or
    /// the wait of this caller, takes longer than [`LIMIT`].
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

    /// Reads the Node. `Unknown` if it cannot be read in time.
    async fn node(&self, name: Option<&str>) -> BoundNode {
        let Some(name) = name.map(str::to_owned) else {
            return BoundNode::Unknown;
        };
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

    /// Reads the owner of the address. None if it cannot be read in time: the controller checks it again.
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
            now.map_or(IpSeen::Unknown, |now| {
                IpSeen::Now(now.map(|ip| Arc::new(KnownIp::from(&ip))))
            })
        };
        Self::read_once(&self.ips, name, read).await
    }
}

/// The value, or the default value after [`LIMIT`].
async fn in_time<T: Default>(read: impl Future<Output = T>) -> T {
    timeout(LIMIT, read).await.unwrap_or_default()
}

async fn list<K: Resource<DynamicType = ()>, T, E: StdError>(
    client: &Client,
    what: &'static str,
    read: impl Fn(&DynamicObject) -> Result<T, E>,
) -> Result<Vec<Arc<T>>, Unreadable> {
    let api: Api<Reduced<Whole>> = Api::all_with(client.clone(), &ApiResource::erase::<K>(&()));
    let (mut objects, mut params) = (Vec::new(), watching::list());
    loop {
        let page = api.list(&params).await.map_err(|error| Unreadable {
            what,
            source: error.into(),
        })?;
        let items = page.items.iter();
        objects.extend(items.filter_map(|object| readable(object.as_ref(), &read)));
        match watching::next_page(page.metadata.continue_) {
            Some(next) => params = next,
            None => return Ok(objects),
        }
    }
}

impl Rights for KubeReader {
    async fn right(&self, subject: &Subject, wanted: &Use) -> Result<Right, Unreadable> {
        let unreadable = |source| Unreadable {
            what: "the right to use the IP",
            source,
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let asked = SubjectAccessReview {
            spec: asked(subject, wanted),
            ..SubjectAccessReview::default()
        };
        let _turn = self.turns.acquire().await;
        let said = reviews.create(&PostParams::default(), &asked).await;
        let said = said.map_err(|error| unreadable(error.into()))?.status;
        let said =
            said.ok_or_else(|| unreadable("the review came back without a status".into()))?;
        if let Some(error) = said.evaluation_error {
            // The answer can still be right: for example, a binding to a role that does not exist causes such an error.
            tracing::info!(error, "not every rule on the use of an IP could be read");
        }
        // `denied` occurs only with `allowed: false`. It means only that no other authorizer was asked.
        Ok(if said.allowed {
            Right::Granted
        } else {
            Right::Missing
        })
    }
}

/// The review for this use. An `IP` has no namespace, so the namespace of the pod is used: then a `RoleBinding` in that
/// namespace is enough, and gives no right elsewhere.
fn asked(subject: &Subject, wanted: &Use) -> SubjectAccessReviewSpec {
    let Subject {
        user,
        uid,
        groups,
        extra,
    } = subject.clone();
    SubjectAccessReviewSpec {
        user: Some(user),
        uid: (!uid.is_empty()).then_some(uid),
        groups: Some(groups),
        extra: Some(extra),
        resource_attributes: Some(ResourceAttributes {
            namespace: Some(wanted.namespace().to_owned()),
            group: Some(names::GROUP.to_owned()),
            version: Some(names::VERSION.to_owned()),
            resource: Some(Ip::plural(&()).into_owned()),
            name: Some(wanted.ip.as_str().to_owned()),
            verb: Some("use".to_owned()),
            ..ResourceAttributes::default()
        }),
        ..SubjectAccessReviewSpec::default()
    }
}

impl ClusterReader for KubeReader {
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
            self.parent(dependencies.address),
            ip_now
        );
        let snapshot = snapshot.with_node(node).with_parent(parent);
        match (meant, ip_now) {
            (Some(name), IpSeen::Now(now)) => snapshot.with_ip_now(&name, now),
            _ => snapshot,
        }
    }

    async fn fresh(&self, dependencies: &Dependencies) -> Result<Snapshot, Unreadable> {
        let (lists, node, parent) = tokio::join!(
            self.lists(),
            self.node(dependencies.node.as_deref()),
            self.parent(dependencies.address),
        );
        let (ips, blocks) = lists?;
        Ok(Snapshot::new(ips, blocks)
            .with_node(node)
            .with_parent(parent))
    }
}
