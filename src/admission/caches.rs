//! IPs and blocks as watches show them.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use futures::{StreamExt as _, pin_mut};
use kube::api::Api;
use kube::core::DeserializeGuard;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store, store};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Client, Resource, ResourceExt as _};
use mooring_plan::address::Address;
use serde::de::DeserializeOwned;

use crate::api::read::desired_address;
use crate::api::{Ip, IpBlock, watching};

/// What the webhook keeps of IPs and blocks.
#[derive(Clone)]
pub struct Caches {
    pub(super) ips: Store<Ip>,
    pub(super) blocks: Store<IpBlock>,
}

impl Caches {
    /// The IPs that a pod's annotation can mean: the one of this name, or those that have or ask for this address. A pod's
    /// review must not take longer with each IP that exists.
    pub(super) fn ips_meant(&self, annotation: &str) -> Vec<Arc<Ip>> {
        if let Some(named) = self.ips.get(&ObjectRef::new(annotation)) {
            return vec![named];
        }
        let Ok(address) = annotation.parse::<Address>() else {
            return Vec::new();
        };
        let about = |ip: &Arc<Ip>| {
            ip.reserved_address() == Some(address) || desired_address(&ip.spec) == Some(address)
        };
        let mut ips = self.ips.state();
        ips.retain(about);
        ips
    }

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
    let events = watch(api, watching::watch()).default_backoff();
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

/// The object, or None if it cannot be read.
pub(super) fn whole<K: Resource>(object: DeserializeGuard<K>) -> Option<K> {
    let mut object = object
        .0
        .map_err(|invalid| tracing::warn!(name = ?invalid.metadata.name, error = %invalid, "an object cannot be read"))
        .ok()?;
    object.managed_fields_mut().clear();
    Some(object)
}
