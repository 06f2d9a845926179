//! IPs and blocks as a watch shows them.

use std::error::Error;
use std::sync::Arc;

use futures::{StreamExt as _, pin_mut};
use kube::api::{Api, ApiResource, DynamicObject};
use kube::runtime::watcher::Event;
use kube::{Client, Resource};
use mooring_plan::address::Address;
use mooring_plan::facts::Kind;

use super::known_objects::KnownObjects;
use super::{KnownIp, Snapshot};
use crate::api::read::{Reduced, Whole};
use crate::api::{Ip, IpBlock, watching};

/// What the webhook keeps of IPs and blocks. The controller's watch fills it where one runs in the process.
#[derive(Clone, Debug, Default)]
pub struct Caches(Arc<Kinds>);

#[derive(Debug, Default)]
struct Kinds {
    ips: KnownObjects<KnownIp>,
    blocks: KnownObjects<IpBlock>,
}

impl Caches {
    /// Takes what a watch of this kind shows. Other kinds are not kept.
    pub fn see(&self, kind: Kind, event: &Event<DynamicObject>) {
        match kind {
            Kind::Ip => self.0.ips.see(event, KnownIp::read),
            Kind::Block => self.0.blocks.see(event, read_block),
            Kind::Pod | Kind::Node | Kind::Reservation | Kind::NodeReport => {}
        }
    }

    /// What is known of all blocks, and of the IPs that a pod's annotation can mean: the one of this name, or those that
    /// have or ask for this address. A pod's review must not take longer with each IP that exists. Without an annotation:
    /// of all IPs.
    pub(super) fn snapshot(&self, annotation: Option<&str>) -> Snapshot {
        let ips = match annotation {
            Some(annotation) => self.ips_meant(annotation),
            None => self.0.ips.those(|_| true),
        };
        Snapshot::new(ips, self.0.blocks.those(|_| true))
    }

    fn ips_meant(&self, annotation: &str) -> Vec<Arc<KnownIp>> {
        if let Some(named) = self.0.ips.get(annotation) {
            return vec![named];
        }
        let Ok(address) = annotation.parse::<Address>() else {
            return Vec::new();
        };
        let about = |ip: &KnownIp| ip.reserved == Some(address) || ip.desired == Some(address);
        self.0.ips.those(about)
    }

    /// Returns once both kinds have been listed.
    pub async fn filled(&self) {
        tokio::join!(self.0.ips.filled(), self.0.blocks.filled());
    }

    /// Fills them by watches of its own, for ever: for a process without a controller.
    pub async fn watch(self, client: Client) {
        tokio::join!(
            self.watch_kind::<Ip>(Kind::Ip, &client),
            self.watch_kind::<IpBlock>(Kind::Block, &client),
        );
    }

    async fn watch_kind<K: Resource<DynamicType = ()>>(&self, kind: Kind, client: &Client) {
        let resource = ApiResource::erase::<K>(&());
        let api: Api<Reduced<Whole>> = Api::all_with(client.clone(), &resource);
        let events = watching::events(api, watching::watch());
        pin_mut!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => self.see(kind, &event),
                Err(error) => {
                    tracing::warn!(?kind, %error, "the webhook's watch was interrupted");
                }
            }
        }
    }
}

/// Reads a block. Its object is cloned: blocks are few.
pub(super) fn read_block(object: &DynamicObject) -> Result<IpBlock, impl Error + use<>> {
    object.clone().try_parse()
}
