//! Watches the API server and publishes the objects of the node part.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Pod as KubePod;
use kube::api::ApiResource;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

use super::objects::Objects;
use super::read;
use crate::api::read::Reduced;
use crate::api::request::with_timeout;
use crate::api::{Ip, IpBlock, names, watching};
use crate::telemetry::chain;

/// Interval for reading the IPs that pods of this node ask for and that are not claimed for this node.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The objects that are known so far. Nothing is published before every list was complete once: an object that is
/// not known yet would be removed from the kernel.
struct WatchState {
    objects: Objects,
    /// Names of the IPs that the watch shows.
    watched: std::collections::BTreeSet<String>,
    missing: usize,
    out: watch::Sender<Option<Objects>>,
}

impl WatchState {
    fn publish(&self) {
        if self.missing == 0 {
            let objects = self.objects.clone();
            self.out.send_if_modified(|before| {
                let differs = before.as_ref() != Some(&objects);
                *before = Some(objects);
                differs
            });
        }
    }
}

type ReducedPod = Reduced<read::PodFields>;

type Shared = Arc<Mutex<WatchState>>;

/// Watches blocks, the IPs of the node and its annotated pods until the receiver is dropped.
pub async fn run(client: Client, node: String, out: watch::Sender<Option<Objects>>) {
    let objects = Objects {
        node: node.clone(),
        ..Objects::default()
    };
    let known = WatchState {
        objects,
        watched: std::collections::BTreeSet::new(),
        missing: 3,
        out,
    };
    let known = Arc::new(Mutex::new(known));
    let config = watching::watch();
    let its_ips = config.clone().fields(&format!("status.node={node}"));
    let its_pods = config
        .clone()
        .labels(names::IP_LABEL)
        .fields(&format!("spec.nodeName={node}"));
    let mut tasks = JoinSet::new();
    tasks.spawn(follow(
        Api::all(client.clone()),
        config,
        Arc::clone(&known),
        blocks,
    ));
    tasks.spawn(follow(
        Api::all(client.clone()),
        its_ips,
        Arc::clone(&known),
        ips,
    ));
    tasks.spawn(follow(
        Api::all_with(client.clone(), &ApiResource::erase::<KubePod>(&())),
        its_pods,
        Arc::clone(&known),
        pods,
    ));
    tasks.spawn(poll_unwatched_ips(Api::all(client), known));
    // Each task runs until it is aborted together with this one.
    while tasks.join_next().await.is_some() {}
}

/// Applies one change: an object that exists, an object that is gone, or a complete list.
type TakeIn<K> = fn(&mut WatchState, &Change<'_, K>);

enum Change<'a, K> {
    There(&'a K),
    Gone(&'a K),
    All(&'a [K]),
}

async fn follow<K>(api: Api<K>, config: Config, known: Shared, take_in: TakeIn<K>)
where
    K: Resource + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
{
    let mut events = watcher(api, config).default_backoff().boxed();
    let (mut list, mut synced) = (Vec::new(), false);
    loop {
        match events.try_next().await {
            Ok(Some(event)) => {
                let mut known = known.lock().await;
                match event {
                    Event::Init => list.clear(),
                    Event::InitApply(object) => list.push(object),
                    Event::InitDone => {
                        take_in(&mut known, &Change::All(&list));
                        list.clear();
                        if !std::mem::replace(&mut synced, true) {
                            known.missing -= 1;
                        }
                        known.publish();
                    }
                    Event::Apply(object) => {
                        take_in(&mut known, &Change::There(&object));
                        known.publish();
                    }
                    Event::Delete(object) => {
                        take_in(&mut known, &Change::Gone(&object));
                        known.publish();
                    }
                }
            }
            Ok(None) => return,
            // Keep what is known: a list that fails does not mean that the objects are gone.
            Err(error) => tracing::warn!(error = chain(&error), "a watch was interrupted"),
        }
    }
}

fn name<K: Resource>(object: &K) -> String {
    object.meta().name.clone().unwrap_or_default()
}

fn uid<K: Resource>(object: &K) -> &str {
    object.meta().uid.as_deref().unwrap_or_default()
}

fn blocks(known: &mut WatchState, change: &Change<'_, IpBlock>) {
    let blocks = &mut known.objects.blocks;
    match *change {
        Change::There(block) => drop(blocks.insert(name(block), read::block(block))),
        Change::Gone(block) => drop(blocks.remove(&name(block))),
        Change::All(list) => {
            *blocks = list
                .iter()
                .map(|block| (name(block), read::block(block)))
                .collect();
        }
    }
}

fn ips(known: &mut WatchState, change: &Change<'_, Ip>) {
    let ips = &mut known.objects.ips;
    match *change {
        Change::There(ip) => {
            ips.insert(name(ip), read::ip(ip));
            known.watched.insert(name(ip));
        }
        // The IP is claimed for another node, or has no claim. The rest of its spec is still valid.
        Change::Gone(ip) => {
            if let Some(ip) = ips.get_mut(&name(ip)) {
                ip.claim = None;
            }
            known.watched.remove(&name(ip));
        }
        Change::All(list) => {
            for (name, ip) in ips.iter_mut() {
                if known.watched.contains(name) {
                    ip.claim = None;
                }
            }
            known.watched = list.iter().map(name).collect();
            ips.extend(list.iter().map(|ip| (name(ip), read::ip(ip))));
        }
    }
}

fn pods(known: &mut WatchState, change: &Change<'_, ReducedPod>) {
    let pods = &mut known.objects.pods;
    match *change {
        Change::There(pod) => match read::pod(pod.as_ref()) {
            Some((uid, pod)) => drop(pods.insert(uid, pod)),
            None => drop(pods.remove(uid(pod))),
        },
        Change::Gone(pod) => drop(pods.remove(uid(pod))),
        Change::All(list) => {
            let list = list.iter().map(AsRef::as_ref);
            *pods = list.filter_map(read::pod).collect();
        }
    }
    let wanted = &known.objects.pods;
    let watched = &known.watched;
    let asked =
        |name: &String| watched.contains(name) || wanted.values().any(|pod| pod.wants == *name);
    known.objects.ips.retain(|name, _| asked(name));
}

/// Reads the IPs of pods that wait for their address, because the watch shows only IPs of this node. Until the IP of a
/// pod is read, the partners of all blocks are used for that pod.
async fn poll_unwatched_ips(api: Api<Ip>, known: Shared) {
    loop {
        let wanted: Vec<String> = {
            let known = known.lock().await;
            let wanted = known.objects.pods.values().map(|pod| pod.wants.clone());
            wanted
                .filter(|name| !known.watched.contains(name))
                .collect()
        };
        for name in wanted {
            let doing = || format!("reading IP {name}");
            match with_timeout(doing, api.get_opt(&name)).await {
                Ok(Some(ip)) => {
                    let mut known = known.lock().await;
                    // A claim for this node is taken from the watch alone, so that claims arrive in order.
                    if !known.watched.contains(&name) {
                        let ip = super::objects::Ip {
                            claim: None,
                            ..read::ip(&ip)
                        };
                        known.objects.ips.insert(name, ip);
                        known.publish();
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(ip = name, error = chain(&error), "an IP cannot be read");
                }
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests;
