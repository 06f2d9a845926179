//! What watches tell: the difference between what a controller was shown and what is.

use std::collections::{BTreeMap, BTreeSet};

use mooring_plan::facts::{Fact, Facts, Kind};
use mooring_plan::names::{Millis, PodUid, ResourceVersion};
use mooring_plan::objects::{Pod, Reservation};

use super::kube::Kube;

/// What one controller's watches have shown it.
#[derive(Clone, Default)]
pub struct Shown {
    kube: Kube,
    listed: bool,
    /// The version that everything was shown up to.
    upto: Option<ResourceVersion>,
}

fn labelled(kube: &Kube) -> BTreeMap<PodUid, Pod> {
    kube.pods
        .values()
        .filter(|pod| pod.label.is_some())
        .map(|pod| (pod.uid.clone(), pod.clone()))
        .collect()
}

fn managed(kube: &Kube) -> BTreeMap<std::net::Ipv4Addr, Reservation> {
    kube.reservations
        .iter()
        .filter(|(_, held)| held.managed)
        .map(|(address, held)| (*address, held.clone()))
        .collect()
}

/// The keys that are no more, and the values that are new or others.
fn differences<K: Ord + Clone, V: PartialEq + Clone>(
    before: &BTreeMap<K, V>,
    now: &BTreeMap<K, V>,
) -> (Vec<K>, Vec<V>) {
    let gone = before.keys().filter(|key| !now.contains_key(*key));
    let changed = now
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(*value))
        .map(|(_, value)| value.clone());
    (gone.cloned().collect(), changed.collect())
}

impl Shown {
    /// Brings a controller up to date. With `relist`, what went in between was seen by nobody.
    pub fn tell(
        &mut self,
        kube: &Kube,
        kinds: &BTreeSet<Kind>,
        relist: bool,
        facts: &mut Facts,
        now: Millis,
    ) {
        if self.upto == Some(kube.newest()) && !relist {
            return;
        }
        let mut news = Vec::new();
        if kinds.contains(&Kind::Block) {
            let (gone, new) = differences(&self.kube.blocks, &kube.blocks);
            news.extend(gone.into_iter().map(Fact::BlockGone));
            news.extend(new.into_iter().map(Fact::Block));
            self.kube.blocks.clone_from(&kube.blocks);
        }
        if kinds.contains(&Kind::Ip) {
            let (gone, new) = differences(&self.kube.ips, &kube.ips);
            news.extend(gone.into_iter().map(Fact::IpGone));
            news.extend(new.into_iter().map(Fact::Ip));
            self.kube.ips.clone_from(&kube.ips);
        }
        if kinds.contains(&Kind::Node) {
            let (gone, new) = differences(&self.kube.nodes, &kube.nodes);
            news.extend(gone.into_iter().map(Fact::NodeGone));
            news.extend(new.into_iter().map(Fact::Node));
            self.kube.nodes.clone_from(&kube.nodes);
        }
        if kinds.contains(&Kind::Pod) {
            let (gone, new) = differences(&labelled(&self.kube), &labelled(kube));
            news.extend(gone.into_iter().map(|uid| {
                if relist {
                    Fact::PodVanished(uid)
                } else {
                    Fact::PodDeleted(uid)
                }
            }));
            news.extend(new.into_iter().map(Fact::Pod));
            self.kube.pods.clone_from(&kube.pods);
        }
        if kinds.contains(&Kind::Reservation) {
            let (gone, new) = differences(&managed(&self.kube), &managed(kube));
            news.extend(gone.into_iter().map(Fact::ReservationGone));
            news.extend(new.into_iter().map(Fact::Reservation));
            self.kube.reservations.clone_from(&kube.reservations);
        }
        self.upto = (kinds.len() == Kind::ALL.len()).then(|| kube.newest());
        for fact in news {
            facts.apply(fact, now, now);
        }
        if !self.listed || relist {
            self.listed = true;
            for kind in Kind::ALL {
                facts.apply(Fact::Listed(kind, kube.newest()), now, now);
                facts.apply(Fact::Synced(kind), now, now);
            }
        }
    }
}
