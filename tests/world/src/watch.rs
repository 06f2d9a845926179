//! The events of watches: the difference between the objects that were shown and the present objects.

use std::collections::BTreeMap;

use mooring_plan::address::Address;
use mooring_plan::facts::{Fact, Kind};
use mooring_plan::names::PodUid;
use mooring_plan::objects::{Pod, Reservation};

use crate::kube::Kube;

impl Kube {
    /// The events of the watches for the changes since `before`, by kind. With `listed` the watches restarted with a
    /// list, so that the deletion of pods was not seen.
    pub fn events_since(&self, before: &Self, listed: bool) -> Vec<(Kind, Fact)> {
        let pod_gone = |pod: &Pod| {
            let uid = pod.uid.clone();
            if listed {
                Fact::PodVanished(uid)
            } else {
                Fact::PodDeleted(uid)
            }
        };
        let blocks = changes(
            &by_key(&before.blocks),
            &by_key(&self.blocks),
            |block| Fact::BlockGone(block.name.clone()),
            Fact::Block,
        );
        let ips = changes(
            &by_key(&before.ips),
            &by_key(&self.ips),
            |ip| Fact::IpGone(ip.name.clone(), ip.uid.clone()),
            Fact::Ip,
        );
        let nodes = changes(
            &by_key(&before.nodes),
            &by_key(&self.nodes),
            |node| Fact::NodeGone(node.name.clone(), node.uid.clone()),
            Fact::Node,
        );
        let pods = changes(&before.labelled(), &self.labelled(), pod_gone, Fact::Pod);
        let reservations = changes(
            &before.managed(),
            &self.managed(),
            |held| Fact::ReservationGone(held.address, held.uid.clone()),
            Fact::Reservation,
        );
        let reports = changes(
            &by_key(&before.node_reports),
            &by_key(&self.node_reports),
            |report| Fact::NodeReportGone(report.node.clone()),
            Fact::NodeReport,
        );
        let of = |kind, facts: Vec<Fact>| facts.into_iter().map(move |fact| (kind, fact));
        of(Kind::Block, blocks)
            .chain(of(Kind::Ip, ips))
            .chain(of(Kind::Node, nodes))
            .chain(of(Kind::Pod, pods))
            .chain(of(Kind::Reservation, reservations))
            .chain(of(Kind::NodeReport, reports))
            .collect()
    }

    /// Applies an event to the objects that a watch has shown.
    pub fn show(&mut self, event: &Fact) {
        match event {
            Fact::Block(block) => {
                self.blocks.insert(block.name.clone(), block.clone());
            }
            Fact::BlockGone(name) => {
                self.blocks.remove(name);
            }
            Fact::Ip(ip) => {
                self.ips.insert(ip.name.clone(), ip.clone());
            }
            Fact::IpGone(name, _) => {
                self.ips.remove(name);
            }
            Fact::Node(node) => {
                self.nodes.insert(node.name.clone(), node.clone());
            }
            Fact::NodeGone(name, _) => {
                self.nodes.remove(name);
            }
            Fact::NodeReport(report) => {
                self.node_reports
                    .insert(report.node.clone(), report.clone());
            }
            Fact::NodeReportGone(name) => {
                self.node_reports.remove(name);
            }
            Fact::Pod(pod) => {
                self.pods.insert(pod.key.clone(), pod.clone());
            }
            Fact::PodDeleted(uid) | Fact::PodVanished(uid) => {
                self.pods.retain(|_, pod| &pod.uid != uid);
            }
            Fact::Reservation(held) => {
                self.reservations.insert(held.address, held.clone());
            }
            Fact::ReservationGone(address, _) => {
                self.reservations.remove(address);
            }
            _ => unreachable!("no event of a watch: {event:?}"),
        }
    }

    fn labelled(&self) -> BTreeMap<&PodUid, &Pod> {
        let labelled = self.pods.values().filter(|pod| pod.label.is_some());
        labelled.map(|pod| (&pod.uid, pod)).collect()
    }

    fn managed(&self) -> BTreeMap<&Address, &Reservation> {
        let all = self.reservations.iter();
        all.filter(|(_, held)| held.managed).collect()
    }
}

fn by_key<K: Ord, V>(map: &BTreeMap<K, V>) -> BTreeMap<&K, &V> {
    map.iter().collect()
}

/// The deleted objects, and then those that are new or changed.
fn changes<K: Ord, V: PartialEq + Clone>(
    before: &BTreeMap<&K, &V>,
    now: &BTreeMap<&K, &V>,
    gone: impl Fn(&V) -> Fact,
    changed: fn(V) -> Fact,
) -> Vec<Fact> {
    let went = before.iter().filter(|(key, _)| !now.contains_key(**key));
    let came = now
        .iter()
        .filter(|(key, value)| before.get(**key) != Some(*value));
    went.map(|(_, value)| gone(value))
        .chain(came.map(|(_, value)| changed((*value).clone())))
        .collect()
}
