//! At rest, what is has to be what is wished: written down once more, from the users' side.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use mooring_plan::names::{InterfaceId, PodKey};
use mooring_plan::objects::{Claim, Ip};

use super::Sim;
use super::rules::explains;

impl Sim {
    fn must(&self, so: bool, what: &str) {
        assert!(so, "{what}\n{}", self.story());
    }

    /// Every IP reserved, attached to a pod that wants it, and told so; nothing left over.
    pub fn expect_the_wish(&self) {
        let mut ours = BTreeSet::new();
        for ip in self.kube.ips.values() {
            self.must(!ip.deleting, "an IP is never gone");
            let said = ip.status.conditions.reserved.as_ref();
            self.must(said.is_some(), "an IP says nothing");
            let Some(address) = ip.status.address else {
                continue;
            };
            self.must(self.reserved_for(ip, address), "an address is not reserved");
            ours.extend(self.expect_its_wish(ip, address));
        }
        self.expect_nothing_left(&ours);
    }

    fn reserved_for(&self, ip: &Ip, address: Ipv4Addr) -> bool {
        let held = self.kube.reservations.get(&address);
        held.is_some_and(|held| held.owner.as_ref() == Some(&ip.uid))
    }

    /// One IP; the place that its address may be at.
    fn expect_its_wish(&self, ip: &Ip, address: Ipv4Addr) -> Option<(Ipv4Addr, InterfaceId)> {
        let on = self.ec2.holder_of(address);
        let foreign = on.is_some_and(|on| !explains(&ip.status, address, on));
        let saying: Vec<_> = self.saying_attached(ip).map(|pod| &pod.uid).collect();
        let Some(claim) = &ip.status.claim else {
            self.must(saying.is_empty(), "a pod says True of nothing");
            self.must(
                on.is_none() || foreign,
                "an address is left on an interface",
            );
            let waiting = self.kube.pods.keys().any(|key| self.could_hold(key, ip));
            self.must(!waiting || foreign, "a pod waits in vain");
            return None;
        };
        self.must(self.wants(claim), "the holder does not want it");
        let Some(target) = claim.target() else {
            panic!("it is never off\n{}", self.story());
        };
        if claim.recorded() {
            self.must(on == Some(&target.place.interface), "it is not there");
            self.must(
                saying == [&claim.uid],
                "its holder does not say so, or another does",
            );
        } else {
            self.must(saying.is_empty(), "a pod says True too early");
            let possible = self.has_interface(&claim.pod);
            self.must(foreign || !possible, "it never gets there");
        }
        Some((address, target.place.interface.clone()))
    }

    fn wants(&self, claim: &Claim) -> bool {
        let holder = self.kube.pods.get(&claim.pod);
        holder.is_some_and(|pod| pod.uid == claim.uid && pod.annotated && !pod.ended)
    }

    fn expect_nothing_left(&self, ours: &BTreeSet<(Ipv4Addr, InterfaceId)>) {
        for held in self.kube.reservations.values() {
            let owner = self
                .kube
                .ips
                .values()
                .find(|ip| Some(&ip.uid) == held.owner.as_ref());
            let needed = owner.is_some_and(|ip| {
                let wished = ip.wish.as_ref().ok().and_then(|wish| wish.address);
                // While the holder cannot be attached, the old address stays reserved too.
                let waits = ip
                    .status
                    .claim
                    .as_ref()
                    .is_some_and(|claim| !claim.recorded());
                ip.status.address == Some(held.address) || wished == Some(held.address) || waits
            });
            self.must(needed, "an address stays reserved");
        }
        let by_hand: BTreeSet<_> = self.rules.ever_by_hand().collect();
        for (address, on) in self.ec2.assigned() {
            let known = ours.contains(&(address, on)) || by_hand.contains(&address);
            self.must(known, "an address is left on an interface");
        }
        for pod in self.kube.pods.values().filter(|pod| !pod.annotated) {
            let over = pod.deleting.is_some() || pod.ended;
            let known = |name| self.kube.ips.contains_key(name);
            self.must(
                over || !pod.label.as_ref().is_some_and(known),
                "a pod is not let go",
            );
        }
    }

    /// Is there an interface on the machine that this pod is bound to?
    fn has_interface(&self, key: &PodKey) -> bool {
        let node = self.kube.pods.get(key).and_then(|pod| pod.node.as_ref());
        let node = node.and_then(|name| self.kube.nodes.get(name));
        let instance = node.and_then(|node| node.instance.as_ref());
        let mut interfaces = self.ec2.interfaces.values();
        instance.is_some()
            && interfaces
                .any(|interface| interface.attached && interface.instance.as_ref() == instance)
    }

    /// Could this pod hold this IP's address now?
    fn could_hold(&self, key: &PodKey, ip: &Ip) -> bool {
        let Some(pod) = self.kube.pods.get(key) else {
            return false;
        };
        let node = pod.node.as_ref().and_then(|name| self.kube.nodes.get(name));
        let asks = pod.annotated
            && pod.ip.as_ref() == Some(&ip.uid)
            && pod.label.as_ref() == Some(&ip.name);
        let lives = !pod.ended && pod.deleting.is_none();
        let well = node.is_some_and(|node| node.ready && !node.unreachable && !node.out_of_service);
        asks && lives && well && self.has_interface(key)
    }
}
