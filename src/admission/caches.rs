//! Caches of IPs and blocks, filled by watches.

use std::error::Error;
use std::sync::Arc;

use futures::{StreamExt as _, pin_mut};
use kube::api::{Api, ApiResource, DynamicObject};
use kube::runtime::watcher::Event;
use kube::{Client, Resource};
use mooring_plan::address::Address;
use mooring_plan::facts::Kind;
use mooring_plan::store_revision::KnownVersions;
use tokio::time::{Duration, MissedTickBehavior, interval};

use super::known_objects::KnownObjects;
use super::{KnownIp, Snapshot};
use crate::api::list_version::list_version;
use crate::api::read::{Reduced, Whole};
use crate::api::{Ip, IpBlock, watching};
use crate::telemetry::chain;

/// Interval in which a webhook without a controller asks for the versions of its two lists.
const VERSION_INTERVAL: Duration = Duration::from_secs(30);

/// The caches of the webhook. If the controller runs in the same process, its watches fill them.
#[derive(Clone, Debug, Default)]
pub struct Caches(Arc<Kinds>);

#[derive(Debug, Default)]
struct Kinds {
    ips: KnownObjects<KnownIp>,
    blocks: KnownObjects<IpBlock>,
}

impl Caches {
    /// Applies a watch event of this kind. Events of kinds other than IP and block are ignored.
    pub fn see(&self, kind: Kind, event: &Event<DynamicObject>) {
        match kind {
            Kind::Ip => self.0.ips.see(event, KnownIp::read),
            Kind::Block => self.0.blocks.see(event, read_block),
            Kind::Pod | Kind::Node | Kind::Reservation | Kind::NodeReport => {}
        }
    }

    /// All cached blocks, and the cached IPs that the annotation of a pod can mean: the IP of this name, or those that
    /// have or ask for this address. So the time of a pod review does not grow with the number of IPs. Without an
    /// annotation: all IPs.
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

    /// Returns when both kinds have been listed.
    pub async fn filled(&self) {
        tokio::join!(self.0.ips.filled(), self.0.blocks.filled());
    }

    /// Fills the caches by separate watches. For a process without a controller. Never returns.
    pub async fn watch(self, client: Client) {
        tokio::join!(
            self.watch_kind::<Ip>(Kind::Ip, &client),
            self.watch_kind::<IpBlock>(Kind::Block, &client),
        );
    }

    async fn watch_kind<K: Resource<DynamicType = ()>>(&self, kind: Kind, client: &Client) {
        let resource = ApiResource::erase::<K>(&());
        let api: Api<Reduced<Whole>> = Api::all_with(client.clone(), &resource);
        let mut known = KnownVersions::default();
        loop {
            tokio::select! {
                () = restored(kind, &api, &mut known) => {
                    tracing::warn!(?kind, "the API server was restored from a backup");
                }
                () = self.fill(kind, api.clone()) => return,
            }
        }
    }

    async fn fill(&self, kind: Kind, api: Api<Reduced<Whole>>) {
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

/// Returns when the list of the kind has a lower version than before: the API server was restored from a backup
/// (R1.25), and a watch receives nothing until the version from which it continues is reached again (R7.5).
async fn restored(kind: Kind, api: &Api<Reduced<Whole>>, known: &mut KnownVersions) {
    let mut ticks = interval(VERSION_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match list_version(api, kind, None).await {
            Ok(Some(version)) if known.list_shows(version) => return,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(error = chain(&error), "the version of a list is not known");
            }
        }
    }
}

/// Reads a block. The object is cloned, because there are few blocks.
pub(super) fn read_block(object: &DynamicObject) -> Result<IpBlock, impl Error + use<>> {
    object.clone().try_parse()
}

#[cfg(test)]
mod tests;
