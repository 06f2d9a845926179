//! What watches tell: the difference between what a controller was shown and what is.

use std::collections::{BTreeMap, BTreeSet};

use mooring_plan::facts::{Fact, Kind};
use mooring_plan::names::{BlockName, IpName, NodeName, PodUid, ResourceVersion};
use mooring_plan::objects::{Block, Ip, Node, Pod, Reservation};

use super::kube::Kube;

/// What one controller's watches have shown it.
#[derive(Clone, Default)]
pub struct Shown {
    ips: BTreeMap<IpName, Ip>,
    blocks: BTreeMap<BlockName, Block>,
    pods: BTreeMap<PodUid, Pod>,
    nodes: BTreeMap<NodeName, Node>,
    reservations: BTreeMap<std::net::Ipv4Addr, Reservation>,
    listed: bool,
    /// The version that everything was shown up to.
    upto: Option<ResourceVersion>,
}

fn labelled(kube: &Kube) -> BTreeMap<PodUid, &Pod> {
    let pods = kube.pods.values().filter(|pod| pod.label.is_some());
    pods.map(|pod| (pod.uid.clone(), pod)).collect()
}

fn managed(kube: &Kube) -> BTreeMap<std::net::Ipv4Addr, &Reservation> {
    let held = kube.reservations.iter().filter(|(_, held)| held.managed);
    held.map(|(address, held)| (*address, held)).collect()
}

fn all<K: Ord + Clone, V>(map: &BTreeMap<K, V>) -> BTreeMap<K, &V> {
    map.iter()
        .map(|(key, value)| (key.clone(), value))
        .collect()
}

/// The keys that are no more, and the values that are new or others; they are shown by that.
fn news<K: Ord + Clone, V: PartialEq + Clone>(
    shown: &mut BTreeMap<K, V>,
    now: &BTreeMap<K, &V>,
) -> (Vec<K>, Vec<V>) {
    let gone: Vec<K> = shown
        .keys()
        .filter(|key| !now.contains_key(*key))
        .cloned()
        .collect();
    for key in &gone {
        shown.remove(key);
    }
    let mut changed = Vec::new();
    for (key, value) in now {
        if shown.get(key) != Some(*value) {
            shown.insert(key.clone(), (*value).clone());
            changed.push((*value).clone());
        }
    }
    (gone, changed)
}

impl Shown {
    /// What brings a controller up to date. With `relist`, what went in between was seen by nobody.
    pub fn tell(&mut self, kube: &Kube, kinds: &BTreeSet<Kind>, relist: bool) -> Vec<Fact> {
        if self.upto == Some(kube.newest()) && !relist {
            return Vec::new();
        }
        let mut told = Vec::new();
        if kinds.contains(&Kind::Block) {
            let (gone, new) = news(&mut self.blocks, &all(&kube.blocks));
            told.extend(gone.into_iter().map(Fact::BlockGone));
            told.extend(new.into_iter().map(Fact::Block));
        }
        if kinds.contains(&Kind::Ip) {
            let uids = self.ips.clone();
            let (gone, new) = news(&mut self.ips, &all(&kube.ips));
            let gone = gone.into_iter().filter_map(|name| uids.get(&name));
            told.extend(gone.map(|ip| Fact::IpGone(ip.name.clone(), ip.uid.clone())));
            told.extend(new.into_iter().map(Fact::Ip));
        }
        if kinds.contains(&Kind::Node) {
            let (gone, new) = news(&mut self.nodes, &all(&kube.nodes));
            told.extend(gone.into_iter().map(Fact::NodeGone));
            told.extend(new.into_iter().map(Fact::Node));
        }
        if kinds.contains(&Kind::Pod) {
            let (gone, new) = news(&mut self.pods, &labelled(kube));
            told.extend(gone.into_iter().map(|uid| {
                if relist {
                    Fact::PodVanished(uid)
                } else {
                    Fact::PodDeleted(uid)
                }
            }));
            told.extend(new.into_iter().map(Fact::Pod));
        }
        if kinds.contains(&Kind::Reservation) {
            let (gone, new) = news(&mut self.reservations, &managed(kube));
            told.extend(gone.into_iter().map(Fact::ReservationGone));
            told.extend(new.into_iter().map(Fact::Reservation));
        }
        self.upto = (kinds.len() == Kind::ALL.len()).then(|| kube.newest());
        if !self.listed || relist {
            self.listed = true;
            for kind in Kind::ALL {
                told.push(Fact::Listed(kind, kube.newest()));
                told.push(Fact::Synced(kind));
            }
        }
        told
    }
}
