//! How each fact changes what is known: what watches and inventories say, here; answers in their files.

mod answers;
mod nobodys;
mod reads;
mod subnets;

use alloc::collections::BTreeSet;

use super::{Fact, Facts, Kind, NodeSeen, PodSeen, Touched};
use crate::address::Address;
use crate::names::{IpName, IpUid, Millis, NodeName, PodUid, ResourceVersion};
use crate::objects::{Ip, Node, Pod, Reservation, UnreadableIp};

impl Facts {
    /// Takes a fact. `begun` is when the request that it answers was begun (a watch's event: `now`).
    pub fn apply(&mut self, fact: Fact, begun: Millis, now: Millis) -> Touched {
        let Some(fact) = self.since_led(fact, begun) else {
            return Touched::Nothing;
        };
        match fact {
            Fact::Ip(ip) => self.see_ip(ip, now),
            Fact::IpUnreadable(ip) => self.see_unreadable(ip, now),
            Fact::IpGone(name, uid) => {
                self.unreadable.retain(|_, ip| ip.uid != uid);
                match self.ips.get(&name) {
                    // A watch that lags tells of an earlier one; nothing would tell of this one again.
                    Some(known) if known.uid != uid => Touched::Nothing,
                    _ => self.lose_ip(&name, now),
                }
            }
            Fact::Block(block) => {
                if let Some(looked_at) = self.rolled_back.as_mut().filter(|_| block.release_brake) {
                    looked_at.insert(block.name.clone());
                }
                let before = self.blocks.insert(block.name.clone(), block.clone());
                self.touched_by_block(before.as_ref(), Some(&block))
            }
            Fact::BlockGone(name) => {
                let before = self.blocks.remove(&name);
                if let Some(looked_at) = &mut self.rolled_back {
                    looked_at.remove(&name);
                }
                self.forget_subnets();
                self.touched_by_block(before.as_ref(), None)
            }
            Fact::Pod(pod) => self.see_pod(pod, now),
            Fact::PodDeleted(uid) => {
                self.witnessed.insert(uid.clone());
                self.lose_pod(&uid)
            }
            Fact::PodVanished(uid) => self.lose_pod(&uid),
            Fact::Node(node) => self.see_node(node, now),
            Fact::NodeGone(name) => self.lose_node(&name),
            Fact::Reservation(reservation) => self.see_reservation(reservation, now),
            Fact::ReservationGone(address) => self.lose_reservation(address),
            Fact::Synced(kind) => changed(self.synced.insert(kind)),
            Fact::Listed(kind, version) => {
                let known = self.listed.entry(kind).or_default();
                let back = version < *known;
                *known = version;
                if back {
                    self.rolled_back = Some(BTreeSet::new());
                    self.doubt_versions(kind);
                }
                changed(back)
            }
            Fact::LimitsRead(limits) => {
                let before = self.limits.clone();
                self.limits_unanswered
                    .retain(|kind, _| !limits.contains_key(kind));
                self.limits.extend(limits);
                changed(before != self.limits)
            }
            Fact::LimitsFailed(types, outcome) => self.limits_failed(types, outcome, now),
            // An answer that comes after the last block of that subnet has gone.
            Fact::SubnetRead(id, _)
            | Fact::SubnetFailed(id, _)
            | Fact::InventoryBegun(id)
            | Fact::InventoryDone(id, _)
            | Fact::InventoryFailed(id, _)
                if !self.subnets_wanted().contains(&id) =>
            {
                Touched::Nothing
            }
            Fact::SubnetRead(id, cidrs) => self.see_cidrs(&id, cidrs, now),
            Fact::SubnetFailed(id, outcome) => {
                let subnet = self.subnets.entry(id.clone()).or_default();
                subnet.read_failed(&id, Some(outcome), now);
                Touched::Nothing
            }
            Fact::InventoryBegun(id) => {
                self.subnets.entry(id).or_default().tried = Some(now);
                Touched::Nothing
            }
            Fact::InventoryDone(id, list) => self.take_inventory(&id, list, begun, now),
            Fact::InventoryFailed(id, outcome) => self.miss_inventory(&id, outcome, now),
            Fact::Wrote(name, write, outcome) => self.wrote(&name, write, outcome, now),
            Fact::CallBegun(name, call) => {
                self.call_begun(name, &call, now);
                Touched::Nothing
            }
            Fact::Called(name, call, result) => {
                let over = self.outage_ends(call.action(), &result, now);
                let touched = self.called(name, call, result, now);
                if over { Touched::All } else { touched }
            }
            answer => self.read(answer, begun, now),
        }
    }

    fn see_ip(&mut self, ip: Ip, now: Millis) -> Touched {
        let before = self.ips.get(&ip.name);
        // An older version than our own write left: the watch lags, and will get there.
        if before.is_some_and(|before| before.uid == ip.uid && before.version >= ip.version) {
            return Touched::Nothing;
        }
        if let Some(unreadable) = self.unreadable.get(&ip.name)
            && unreadable.uid == ip.uid
        {
            if unreadable.version >= ip.version {
                return Touched::Nothing;
            }
            self.unreadable.remove(&ip.name);
        }
        let known = before.filter(|before| before.uid == ip.uid);
        let missed = self.missed.remove(&ip.name).is_some();
        let memory = self.memory.entry(ip.name.clone()).or_default();
        if known.is_none() {
            // What was read of the name before is no word on this one. And a watch that lags shows an earlier
            // one after its successor, or its end, was read.
            *memory = super::Memory {
                round: now,
                stale: missed || before.is_some(),
                ..super::Memory::default()
            };
        }
        if known.is_some_and(|before| before.wish != ip.wish || before.take_from != ip.take_from) {
            memory.failures.call_is_over();
            memory.taken.clear();
        }
        let same_wish = known.is_some_and(|before| before.wish == ip.wish);
        let seen = memory.edit_seen.filter(|_| same_wish);
        let edited = ip.is_edited_while_held() && seen.is_none();
        memory.edit_seen = ip.is_edited_while_held().then_some(seen.unwrap_or(now));
        let came_to = before.and_then(Ip::unfinished_for).cloned();
        memory.adopted = None;
        memory.claim_changed(known, &ip, now);
        memory.failures.news(now);
        let name = ip.name.clone();
        let holder = ip.status.claim.as_ref().map(|claim| &claim.uid);
        let absent = self.absent.get(&name);
        let missed = absent.filter(|(uid, _)| Some(uid) == holder).cloned();
        self.clear_absent(&name);
        let comes_to = ip.unfinished_for().cloned();
        self.uncount_coming(&name);
        if let Some(interface) = ip.unfinished_for() {
            let coming = self.coming.entry(interface.clone()).or_default();
            coming.insert(name.clone());
        }
        if let Some(before) = self.ips.get(&name) {
            self.index.remove_ip(before);
        }
        self.index.add_ip(&ip);
        if let Some(before) = self.ips.insert(name.clone(), ip) {
            self.note_unexplained(&before, now);
        }
        if edited && let Some(id) = self.subnet_of(&name) {
            let subnet = self.subnets.entry(id).or_default();
            subnet.want(now.plus(Millis(1)));
        }
        self.want_proof(&name, now);
        if let Some((uid, since)) = missed {
            self.set_absent(&name, uid, since);
        }
        let mut touched = BTreeSet::from([name]);
        if came_to != comes_to {
            for interface in came_to.iter().chain(&comes_to) {
                touched.extend(self.touched_by_room(interface));
            }
        }
        Touched::of(touched)
    }

    fn see_unreadable(&mut self, ip: UnreadableIp, now: Millis) -> Touched {
        let same = |uid: &IpUid| uid == &ip.uid;
        let known = self.ips.get(&ip.name).filter(|known| same(&known.uid));
        let before = self
            .unreadable
            .get(&ip.name)
            .filter(|known| same(&known.uid));
        if known.is_some_and(|known| known.version > ip.version)
            || before.is_some_and(|before| before.version >= ip.version)
        {
            return Touched::Nothing;
        }
        let name = ip.name.clone();
        if let Some(memory) = self.memory.get_mut(&name) {
            memory.failures.news(now);
        }
        self.unreadable.insert(name.clone(), ip);
        Touched::One(name)
    }

    /// The API server counts from an earlier version again: what it shows next is newer than what is known,
    /// whatever their numbers say.
    fn doubt_versions(&mut self, kind: Kind) {
        const OLDEST: ResourceVersion = ResourceVersion(0);
        match kind {
            Kind::Ip => {
                self.ips.values_mut().for_each(|ip| ip.version = OLDEST);
                let unreadable = self.unreadable.values_mut();
                unreadable.for_each(|ip| ip.version = OLDEST);
            }
            Kind::Pod => {
                let pods = self.pods.values_mut();
                pods.for_each(|seen| seen.pod.version = OLDEST);
            }
            Kind::Reservation => {
                let reservations = self.reservations.all_mut();
                reservations.for_each(|reservation| reservation.version = OLDEST);
            }
            // They are taken as they come.
            Kind::Block | Kind::Node => {}
        }
    }

    fn uncount_coming(&mut self, name: &IpName) {
        let interface = self.ips.get(name).and_then(Ip::unfinished_for);
        if let Some(interface) = interface
            && let Some(coming) = self.coming.get_mut(interface)
        {
            coming.remove(name);
            if coming.is_empty() {
                self.coming.remove(interface);
            }
        }
    }

    fn lose_ip(&mut self, name: &IpName, now: Millis) -> Touched {
        self.memory.remove(name);
        self.missed.remove(name);
        self.reads.failed.remove(name);
        self.clear_absent(name);
        self.uncount_coming(name);
        let Some(gone) = self.ips.remove(name) else {
            return Touched::Nothing;
        };
        self.index.remove_ip(&gone);
        self.note_unexplained(&gone, now);
        // Others may wait for its address.
        let mut touched = self.touched_by_freed(gone.addresses());
        touched.insert(gone.name);
        Touched::Several(touched)
    }

    fn see_pod(&mut self, pod: Pod, now: Millis) -> Touched {
        let before = self.pods.get(&pod.uid).cloned();
        let before = before.as_ref();
        if before.is_some_and(|before| before.pod.version >= pod.version) {
            return Touched::Nothing;
        }
        if pod.deleting.is_some() || pod.ended || !pod.annotated {
            self.witnessed.insert(pod.uid.clone());
        }
        if let Some(label) = &pod.label
            && self
                .absent
                .get(label)
                .is_some_and(|(uid, _)| uid == &pod.uid)
        {
            let label = label.clone();
            self.clear_absent(&label);
        }
        // What was read before that is no word on it any more.
        let older = |read: &Pod| read.uid == pod.uid && read.version < pod.version;
        let read = self.reads.pods.get(&pod.key);
        if read.is_some_and(|(_, read)| read.as_ref().is_some_and(older)) {
            self.reads.pods.remove(&pod.key);
        }
        let seen = before.map_or(now, |before| before.seen);
        let deleting_since = pod.deleting.map(|_| {
            before
                .and_then(|before| before.deleting_since)
                .unwrap_or(now)
        });
        let bound_since = pod
            .node
            .as_ref()
            .map(|_| before.and_then(|before| before.bound_since).unwrap_or(now));
        let mut touched = self.touched_by_pod(&pod);
        if let Some(before) = before {
            self.index.remove_pod(&before.pod);
        }
        if let Some(label) = before.and_then(|before| before.pod.label.clone())
            && pod.label.as_ref() != Some(&label)
        {
            self.unlist(&label, &pod.uid);
            // It concerns the IP that it was labelled for as well.
            touched.insert(label);
        }
        let Some(label) = pod.label.clone() else {
            self.pods.remove(&pod.uid);
            return Touched::of(touched);
        };
        self.index.add_pod(&pod);
        self.pods_of
            .entry(label.clone())
            .or_default()
            .insert(pod.uid.clone());
        self.pods.insert(
            pod.uid.clone(),
            PodSeen {
                pod,
                seen,
                bound_since,
                deleting_since,
            },
        );
        if let Some(memory) = self.memory.get_mut(&label) {
            memory.failures.news(now);
        }
        Touched::of(touched)
    }

    fn lose_pod(&mut self, uid: &PodUid) -> Touched {
        let Some(PodSeen { pod, .. }) = self.pods.remove(uid) else {
            return Touched::Nothing;
        };
        self.index.remove_pod(&pod);
        if let Some(label) = &pod.label {
            self.unlist(label, uid);
        }
        Touched::of(self.touched_by_pod(&pod))
    }

    fn unlist(&mut self, label: &IpName, uid: &PodUid) {
        if let Some(pods) = self.pods_of.get_mut(label) {
            pods.remove(uid);
            if pods.is_empty() {
                self.pods_of.remove(label);
            }
        }
    }

    fn see_node(&mut self, node: Node, now: Millis) -> Touched {
        let before = self.nodes.get(&node.name);
        if before.is_some_and(|before| before.node == node) {
            return Touched::Nothing;
        }
        let not_ready_since = (!node.ready).then(|| {
            before
                .and_then(|before| before.not_ready_since)
                .unwrap_or(now)
        });
        if let Some(before) = before {
            self.index.remove_node(&before.node);
        }
        self.index.add_node(&node);
        let name = node.name.clone();
        let seen = NodeSeen {
            node,
            not_ready_since,
        };
        let before = self.nodes.insert(name.clone(), seen);
        let touched = self.touched_by_node(&name, before.as_ref());
        for ip in &touched {
            if let Some(memory) = self.memory.get_mut(ip) {
                memory.failures.news(now);
            }
        }
        Touched::Several(touched)
    }

    /// Whatever was learnt of its type goes with the last Node of it.
    fn lose_node(&mut self, name: &NodeName) -> Touched {
        let Some(gone) = self.nodes.remove(name) else {
            return Touched::Nothing;
        };
        self.index.remove_node(&gone.node);
        let of_type = |seen: &NodeSeen| seen.node.instance_type == gone.node.instance_type;
        if let Some(kind) = &gone.node.instance_type
            && !self.nodes.values().any(of_type)
        {
            self.limits.remove(kind);
            self.limits_unanswered.remove(kind);
        }
        Touched::Several(self.touched_by_node(name, Some(&gone)))
    }

    fn see_reservation(&mut self, reservation: Reservation, now: Millis) -> Touched {
        let before = self.reservations.get(reservation.address);
        if before.is_some_and(|before| {
            before.uid == reservation.uid && before.version >= reservation.version
        }) {
            return Touched::Nothing;
        }
        let mut touched = self.touched_by_reservation(&reservation);
        for name in &touched {
            if let Some(memory) = self.memory.get_mut(name) {
                memory.failures.news(now);
                // It may have been written for a version of the IP that was not read yet.
                memory.round = memory.round.max(now);
            }
        }
        if let Some(before) = before {
            touched.extend(self.touched_by_reservation(before));
        }
        self.reservations.insert(reservation);
        Touched::of(touched)
    }

    /// Whose it was, and what may have its address now: also what found it taken by one that no watch shows.
    pub(super) fn lose_reservation(&mut self, address: Address) -> Touched {
        let mut touched = BTreeSet::new();
        let waiting = self.touched_by_freed([address].into_iter());
        for name in &waiting {
            let memory = self.memory.get_mut(name);
            if memory.is_some_and(|memory| memory.taken.remove(&address).is_some()) {
                touched.insert(name.clone());
            }
        }
        if let Some(gone) = self.reservations.remove(address) {
            touched.extend(self.touched_by_reservation(&gone));
            touched.extend(waiting);
        }
        Touched::of(touched)
    }

    pub(super) fn set_absent(&mut self, name: &IpName, uid: PodUid, since: Millis) {
        if let Some(block) = self.block_of(name) {
            self.absent_in.insert(block, name.clone());
        }
        self.absent.insert(name.clone(), (uid, since));
    }

    /// While the IP is known as it was when its holder was missed.
    pub(super) fn clear_absent(&mut self, name: &IpName) {
        if self.absent.remove(name).is_some()
            && let Some(block) = self.block_of(name)
        {
            self.absent_in.remove(&block, name);
        }
    }
}

fn changed(changed: bool) -> Touched {
    if changed {
        Touched::All
    } else {
        Touched::Nothing
    }
}
