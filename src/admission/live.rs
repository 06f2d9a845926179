//! The cluster's objects: IPs and blocks from watches, the rest when it is needed.

use std::fmt::Debug;
use std::hash::Hash;
use std::net::Ipv4Addr;
use std::sync::Arc;

use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::networking::v1::IPAddress;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, PostParams};
use kube::core::DeserializeGuard;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{Store, store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Client, Resource, ResourceExt as _};
use mooring_plan::admission::address::Parent;
use mooring_plan::admission::usage::{Subject, Use};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::judge::LIMIT;
use super::shared::Shared;
use super::{Catalog, Needs, NodeSeen, Right, Rights, Source, Unreadable};
use crate::api::read::reservation;
use crate::api::{Ip, IpBlock, names};

/// The server ends a watch after so long: a half-open connection is noticed soon after.
const WATCH_SECONDS: u32 = 45;

/// What the webhook keeps of IPs and blocks.
#[derive(Clone)]
pub struct Caches {
    ips: Store<Ip>,
    blocks: Store<IpBlock>,
}

impl Caches {
    /// Returns once both have been filled, or can be no more.
    pub async fn filled(&self) {
        let _ = tokio::join!(self.ips.wait_until_ready(), self.blocks.wait_until_ready());
    }
}

/// Caches of IPs and blocks, and the task that keeps them.
pub fn caches(client: &Client) -> (Caches, impl Future<Output = ()> + Send + use<>) {
    let ((ips, ip_writer), (blocks, block_writer)) = (store(), store());
    let (ip_api, block_api) = (Api::all(client.clone()), Api::all(client.clone()));
    let keep = async move {
        tokio::join!(
            keep::<Ip>(ip_api, ip_writer),
            keep::<IpBlock>(block_api, block_writer)
        );
    };
    (Caches { ips, blocks }, keep)
}

/// Watches for ever. An object that cannot be read is left out and stops nothing.
async fn keep<K>(api: Api<DeserializeGuard<K>>, mut writer: Writer<K>)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Default,
{
    let config = watcher::Config::default().timeout(WATCH_SECONDS);
    let events = watch(api, config).default_backoff();
    pin_mut!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                if let Some(event) = readable(event) {
                    writer.apply_watcher_event(&event);
                }
            }
            Err(error) => {
                tracing::warn!(kind = %K::kind(&()), %error, "the webhook's watch was interrupted");
            }
        }
    }
}

fn readable<K: Resource>(event: Event<DeserializeGuard<K>>) -> Option<Event<K>> {
    Some(match event {
        Event::Apply(object) => Event::Apply(whole(object)?),
        Event::Delete(object) => Event::Delete(whole(object)?),
        Event::InitApply(object) => Event::InitApply(whole(object)?),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    })
}

fn whole<K: Resource>(object: DeserializeGuard<K>) -> Option<K> {
    let mut object = object
        .0
        .map_err(|invalid| tracing::warn!(name = ?invalid.metadata.name, error = %invalid, "an object cannot be read"))
        .ok()?;
    object.managed_fields_mut().clear();
    Some(object)
}

/// So many reads of the API server are on their way at a time: more would not be answered sooner, and would take from
/// what the controller asks.
const READS: usize = 32;

/// All IPs and blocks.
type Lists = (Vec<Arc<Ip>>, Vec<Arc<IpBlock>>);

/// The cluster's objects, by caches and by the API server.
#[derive(Clone)]
pub struct Live {
    client: Client,
    caches: Caches,
    lists: Shared<Lists>,
    turns: Arc<Semaphore>,
}

impl Live {
    /// From these caches and this API server.
    #[must_use]
    pub fn new(client: Client, caches: Caches) -> Self {
        Self {
            client,
            caches,
            lists: Shared::default(),
            turns: Arc::new(Semaphore::new(READS)),
        }
    }

    /// All as they are now. A crowd of pods that ask for what is not there costs no list each.
    async fn lists(&self) -> Result<Lists, Unreadable> {
        let (client, turns) = (self.client.clone(), Arc::clone(&self.turns));
        let lists = async move {
            // It is never closed.
            let _turn = turns.acquire().await;
            tokio::try_join!(list(&client, "the IPs"), list(&client, "the IPBlocks"))
        };
        self.lists.or(lists).await
    }

    /// A read, once it is its turn. None: that and its answer took too long.
    async fn in_turn<T>(&self, read: impl Future<Output = T>) -> Option<T> {
        let read = async {
            let _turn = self.turns.acquire().await;
            read.await
        };
        timeout(LIMIT, read).await.ok()
    }

    /// What is known of the Node; nothing where it cannot be read in time.
    async fn node(&self, name: Option<&str>) -> NodeSeen {
        let Some(name) = name else {
            return NodeSeen::Unknown;
        };
        let nodes: Api<Node> = Api::all(self.client.clone());
        match self.in_turn(nodes.get_metadata_opt(name)).await {
            Some(Ok(Some(node))) => NodeSeen::Labelled(node.metadata.labels.unwrap_or_default()),
            Some(Ok(None)) => NodeSeen::Absent,
            Some(Err(_)) | None => NodeSeen::Unknown,
        }
    }

    /// Whose the address is; nobody's where that cannot be read in time: the controller asks again.
    async fn parent(&self, address: Option<Ipv4Addr>) -> Option<Parent> {
        let address = address?.to_string();
        let kind = ApiResource::erase::<IPAddress>(&());
        let reservations: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
        let object = self.in_turn(reservations.get_opt(&address)).await?.ok()??;
        let found = reservation(&object).ok()?;
        Some(
            found
                .parent
                .map_or(Parent::Else(found.parent_text), Parent::Ip),
        )
    }

    /// The `IP` as it is now. None: it could not be read in time.
    async fn ip(&self, name: &str) -> Option<Option<Ip>> {
        let ips: Api<Ip> = Api::all(self.client.clone());
        self.in_turn(ips.get_opt(name)).await?.ok()
    }
}

async fn list<K>(client: &Client, what: &'static str) -> Result<Vec<Arc<K>>, Unreadable>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api: Api<DeserializeGuard<K>> = Api::all(client.clone());
    // Without a resourceVersion the answer is the most recent there is.
    let objects = api.list(&ListParams::default()).await;
    let objects = objects.map_err(|error| Unreadable {
        what,
        source: error.into(),
    })?;
    Ok(objects
        .items
        .into_iter()
        .filter_map(whole)
        .map(Arc::new)
        .collect())
}

impl Rights for Live {
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
            // It may still be true: a binding to a role that is not there is such an error.
            tracing::info!(error, "not every rule on the use of an IP could be read");
        }
        // `denied` goes with `allowed: false`, and says only that no other authorizer was asked.
        Ok(if said.allowed {
            Right::Granted
        } else {
            Right::Missing
        })
    }
}

/// An `IP` has no namespace. The pod's is given, so that a `RoleBinding` there is enough, and gives nothing elsewhere.
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

impl Source for Live {
    async fn cached(&self, needs: &Needs) -> Catalog {
        let catalog = Catalog::new(self.caches.ips.state(), self.caches.blocks.state());
        let meant = needs
            .annotation
            .as_deref()
            .and_then(|annotation| catalog.ip_meant(annotation));
        let meant = meant.map(kube::ResourceExt::name_any);
        let ip_now = async {
            match &meant {
                Some(name) => self.ip(name).await,
                None => None,
            }
        };
        let (node, parent, ip_now) = tokio::join!(
            self.node(needs.node.as_deref()),
            self.parent(needs.address),
            ip_now
        );
        let catalog = catalog.with_node(node).with_parent(parent);
        match (meant, ip_now) {
            (Some(name), Some(now)) => catalog.with_ip_now(&name, now),
            _ => catalog,
        }
    }

    async fn fresh(&self, needs: &Needs) -> Result<Catalog, Unreadable> {
        let (lists, node, parent) = tokio::join!(
            self.lists(),
            self.node(needs.node.as_deref()),
            self.parent(needs.address),
        );
        let (ips, blocks) = lists?;
        Ok(Catalog::new(ips, blocks)
            .with_node(node)
            .with_parent(parent))
    }
}
