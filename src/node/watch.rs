//! Watches the API server and publishes the objects of the node part.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::Pod as KubePod;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::watcher::{Config, Event};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

use super::objects::Objects;
use super::read;
use crate::api::read::{Fields, Reduced, Whole};
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
    watched: BTreeSet<String>,
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

type Shared = Arc<Mutex<WatchState>>;

/// Watches blocks, the IPs of the node and its annotated pods. Returns only after a bug has ended one of the tasks.
/// `restorations` counts how often the API server was restored from a backup.
pub async fn run(
    client: Client,
    node: String,
    restorations: watch::Receiver<u32>,
    out: watch::Sender<Option<Objects>>,
) {
    let objects = Objects {
        node: node.clone(),
        ..Objects::default()
    };
    let known = WatchState {
        objects,
        watched: BTreeSet::new(),
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
    tasks.spawn(follow::<Whole>(
        Api::all_with(client.clone(), &ApiResource::erase::<IpBlock>(&())),
        config,
        restorations.clone(),
        Arc::clone(&known),
        blocks,
    ));
    tasks.spawn(follow::<Whole>(
        Api::all_with(client.clone(), &ApiResource::erase::<Ip>(&())),
        its_ips,
        restorations.clone(),
        Arc::clone(&known),
        ips,
    ));
    tasks.spawn(follow::<read::PodAddressFields>(
        Api::all_with(client.clone(), &ApiResource::erase::<KubePod>(&())),
        its_pods,
        restorations.clone(),
        Arc::clone(&known),
        pods,
    ));
    tasks.spawn(poll_unwatched_ips(Api::all(client), known));
    // The others end with this function.
    tasks.join_next().await;
}

/// Applies one change: an object that exists, an object that is gone, or a complete list.
type ApplyChange = fn(&mut WatchState, WatchChange);

enum WatchChange {
    There(DynamicObject),
    Gone(DynamicObject),
    All(Vec<DynamicObject>),
}

/// The objects are untyped, and each is parsed for itself: one that does not match its schema must not end the watch of
/// all others.
async fn follow<F: Fields>(
    api: Api<Reduced<F>>,
    config: Config,
    mut restorations: watch::Receiver<u32>,
    known: Shared,
    apply: ApplyChange,
) {
    let begin = || Box::pin(watching::events(api.clone(), config.clone()));
    let mut events = begin();
    let (mut list, mut synced) = (Vec::new(), false);
    loop {
        let next = tokio::select! {
            biased;
            // The watch would receive nothing until the version from which it continues is reached again (R7.5). What
            // is known stays until the new list is complete.
            Ok(()) = restorations.changed() => {
                events = begin();
                continue;
            }
            next = events.try_next() => next,
        };
        match next {
            Ok(Some(event)) => {
                let mut known = known.lock().await;
                match event {
                    Event::Init => list.clear(),
                    Event::InitApply(object) => list.push(object),
                    Event::InitDone => {
                        apply(&mut known, WatchChange::All(std::mem::take(&mut list)));
                        if !std::mem::replace(&mut synced, true) {
                            known.missing -= 1;
                        }
                        known.publish();
                    }
                    Event::Apply(object) => {
                        apply(&mut known, WatchChange::There(object));
                        known.publish();
                    }
                    Event::Delete(object) => {
                        apply(&mut known, WatchChange::Gone(object));
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

fn name(object: &DynamicObject) -> String {
    object.metadata.name.clone().unwrap_or_default()
}

fn uid(object: &DynamicObject) -> &str {
    object.metadata.uid.as_deref().unwrap_or_default()
}

/// The name of the object, and the object. None: it cannot be parsed, and what is known of it stays valid.
fn parsed<K: Resource<DynamicType = ()> + DeserializeOwned>(
    object: DynamicObject,
) -> (String, Option<K>) {
    let name = name(&object);
    let parsed = object.try_parse().map_err(|error| {
        let (kind, error) = (K::kind(&()), chain(&error));
        tracing::warn!(%kind, name, error, "an object cannot be read: its last readable state is used");
    });
    (name, parsed.ok())
}

fn blocks(known: &mut WatchState, change: WatchChange) {
    let blocks = &mut known.objects.blocks;
    match change {
        WatchChange::There(object) => {
            let (name, block) = parsed(object);
            blocks.extend(block.map(|block| (name, read::block(&block))));
        }
        WatchChange::Gone(object) => drop(blocks.remove(&name(&object))),
        WatchChange::All(list) => {
            let mut before = std::mem::take(blocks);
            blocks.extend(list.into_iter().filter_map(|object| {
                let (name, block) = parsed(object);
                let block = block.map(|block| read::block(&block));
                let block = block.or_else(|| before.remove(&name))?;
                Some((name, block))
            }));
        }
    }
}

fn ips(known: &mut WatchState, change: WatchChange) {
    let ips = &mut known.objects.ips;
    match change {
        WatchChange::There(object) => {
            let (name, ip) = parsed(object);
            ips.extend(ip.map(|ip| (name.clone(), read::ip(&ip))));
            known.watched.insert(name);
        }
        // The IP is claimed for another node, or has no claim. The rest of its spec is still valid.
        WatchChange::Gone(object) => {
            let name = name(&object);
            if let Some(ip) = ips.get_mut(&name) {
                ip.claim = None;
            }
            known.watched.remove(&name);
        }
        WatchChange::All(list) => {
            let listed: Vec<(String, Option<Ip>)> = list.into_iter().map(parsed).collect();
            let before = std::mem::take(&mut known.watched);
            known.watched = listed.iter().map(|(name, _)| name.clone()).collect();
            for name in before.difference(&known.watched) {
                if let Some(ip) = ips.get_mut(name) {
                    ip.claim = None;
                }
            }
            let readable = listed
                .into_iter()
                .filter_map(|(name, ip)| Some((name, read::ip(&ip?))));
            ips.extend(readable);
        }
    }
}

fn pods(known: &mut WatchState, change: WatchChange) {
    let pods = &mut known.objects.pods;
    match change {
        WatchChange::There(pod) => match read::pod(&pod) {
            Some((uid, pod)) => drop(pods.insert(uid, pod)),
            None => drop(pods.remove(uid(&pod))),
        },
        WatchChange::Gone(pod) => drop(pods.remove(uid(&pod))),
        WatchChange::All(list) => *pods = list.iter().filter_map(read::pod).collect(),
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
        // Several pods can wait for one IP.
        let wanted: BTreeSet<String> = {
            let known = known.lock().await;
            let wanted = known.objects.pods.values().map(|pod| &pod.wants);
            wanted
                .filter(|name| !known.watched.contains(*name))
                .cloned()
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
