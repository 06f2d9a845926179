//! A small API server: compare-and-swap, UIDs, finalizers, garbage collection.
//!
//! Each object has its own version counter. `plan` compares versions of the same object only, and so there are
//! fewer different states.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use mooring_plan::facts::{Fact, Kind, WriteOutcome, Written};
use mooring_plan::names::{BlockName, IpName, IpUid, NodeName, PodKey, PodUid, ResourceVersion};
use mooring_plan::objects::{Block, Gate, Ip, Node, Pod, ReplicaSet, Reservation};
use mooring_plan::step::{GateWrite, Read, Write};

/// The objects of the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kube {
    uids: u64,
    pub ips: BTreeMap<IpName, Ip>,
    pub blocks: BTreeMap<BlockName, Block>,
    pub pods: BTreeMap<PodKey, Pod>,
    /// The message of the condition of each pod: a write with the same message changes nothing.
    messages: BTreeMap<PodUid, (String, Option<ResourceVersion>)>,
    pub nodes: BTreeMap<NodeName, Node>,
    /// By name; all are in the namespace of the pods.
    pub replica_sets: BTreeMap<String, ReplicaSet>,
    pub reservations: BTreeMap<Ipv4Addr, Reservation>,
}

fn next(version: &mut ResourceVersion) {
    version.0 += 1;
}

fn done(written: Written) -> WriteOutcome {
    WriteOutcome::Done(Some(written))
}

impl Kube {
    /// The pod of this UID, while its object exists.
    pub fn pod(&self, key: &PodKey, uid: &PodUid) -> Option<&Pod> {
        self.pods.get(key).filter(|pod| &pod.uid == uid)
    }

    /// A change of an IP. With `version`, only if this is the present version.
    pub fn change_ip(
        &mut self,
        name: &IpName,
        version: Option<ResourceVersion>,
        change: impl FnOnce(&mut Ip),
    ) -> WriteOutcome {
        let Some(mut ip) = self.ips.get(name).cloned() else {
            return WriteOutcome::NotFound;
        };
        if version.is_some_and(|version| version != ip.version) {
            return WriteOutcome::Conflict;
        }
        change(&mut ip);
        if self.ips.get(name) == Some(&ip) {
            return done(Written::Ip(ip));
        }
        next(&mut ip.version);
        if ip.deleting && !ip.finalizer {
            self.ips.remove(name);
            self.collect_garbage();
        } else {
            self.ips.insert(name.clone(), ip.clone());
        }
        done(Written::Ip(ip))
    }

    /// Deletes every `IPAddress` whose owner is gone; with a finalizer it is only marked as deleted.
    fn collect_garbage(&mut self) {
        let ips = &self.ips;
        let orphan = |held: &Reservation| {
            let owner = held.owner.as_ref();
            owner.is_some_and(|owner| ips.values().all(|ip| &ip.uid != owner))
        };
        self.reservations
            .retain(|_, held| held.finalizer || !orphan(held));
        for held in self.reservations.values_mut() {
            if orphan(held) && !held.deleting {
                held.deleting = true;
                next(&mut held.version);
            }
        }
    }

    /// A change of a pod, if it exists.
    pub fn change_pod(&mut self, key: &PodKey, change: impl FnOnce(&mut Pod)) {
        if let Some(pod) = self.pods.get_mut(key) {
            change(pod);
            next(&mut pod.version);
        }
    }

    /// Carries out a write.
    pub fn write(&mut self, write: &Write) -> WriteOutcome {
        match write {
            Write::AddFinalizer(name, version) => self.change_ip(name, Some(*version), |ip| {
                ip.finalizer |= !ip.deleting;
            }),
            Write::RemoveFinalizer(name, version) => {
                self.change_ip(name, Some(*version), |ip| ip.finalizer = false)
            }
            Write::DropTakeFrom(name, version) => {
                self.change_ip(name, Some(*version), |ip| ip.take_from = None)
            }
            Write::Status(name, version, _, status) => {
                self.change_ip(name, Some(*version), |ip| ip.status.clone_from(status))
            }
            // Every IP of a world can be read.
            Write::SayUnreadable(..) => WriteOutcome::NotFound,
            Write::Reserve(name, uid, _, address) => self.reserve(name, uid, *address),
            Write::MendReservation(_, uid, _, seen) => self.mend(uid, seen),
            Write::Release(seen) => self.release(seen),
            Write::Gate(gate) => self.gate(gate),
            Write::Label(key, uid, label) => self.label(key, uid, label.as_ref()),
        }
    }

    /// Could this write, which was decided earlier, still change anything?
    pub fn can_apply(&self, write: &Write) -> bool {
        let ip = |name, version: &ResourceVersion| {
            let ip: Option<&Ip> = self.ips.get(name);
            ip.is_some_and(|ip| ip.version == *version)
        };
        let held = |seen: &Reservation| {
            let held = self.reservations.get(&seen.address);
            held.is_some_and(|held| held.uid == seen.uid && held.version == seen.version)
        };
        match write {
            Write::AddFinalizer(name, version)
            | Write::RemoveFinalizer(name, version)
            | Write::DropTakeFrom(name, version)
            | Write::Status(name, version, ..) => ip(name, version),
            Write::MendReservation(_, _, _, seen) | Write::Release(seen) => held(seen),
            Write::Gate(gate) => self
                .pod(&gate.pod, &gate.uid)
                .is_some_and(|pod| gate.version.is_none_or(|version| version == pod.version)),
            Write::Label(key, uid, _) => self.pod(key, uid).is_some(),
            Write::Reserve(..) => true,
            Write::SayUnreadable(..) => false,
        }
    }

    fn reserve(&mut self, name: &IpName, uid: &IpUid, address: Ipv4Addr) -> WriteOutcome {
        if self.reservations.contains_key(&address) {
            return WriteOutcome::AlreadyExists;
        }
        self.uids += 1;
        let reservation = Reservation {
            address,
            uid: format!("ipaddress-{}", self.uids),
            version: ResourceVersion(1),
            deleting: false,
            finalizer: true,
            parent: Some(name.clone()),
            parent_text: format!("IP {name}"),
            label: Some(uid.clone()),
            owner: Some(uid.clone()),
            managed: true,
        };
        self.reservations.insert(address, reservation.clone());
        done(Written::Reservation(reservation))
    }

    fn mend(&mut self, uid: &IpUid, seen: &Reservation) -> WriteOutcome {
        let held = self.reservations.get_mut(&seen.address);
        let Some(held) = held.filter(|held| held.uid == seen.uid) else {
            return WriteOutcome::NotFound;
        };
        if held.version != seen.version {
            return WriteOutcome::Conflict;
        }
        held.label = Some(uid.clone());
        held.owner = Some(uid.clone());
        held.managed = true;
        // The API server takes no new finalizer on an object that is being deleted.
        held.finalizer |= !held.deleting;
        next(&mut held.version);
        done(Written::Reservation(held.clone()))
    }

    fn release(&mut self, seen: &Reservation) -> WriteOutcome {
        match self.reservations.get(&seen.address) {
            None => WriteOutcome::NotFound,
            Some(held) if held.uid != seen.uid => WriteOutcome::NotFound,
            Some(held) if held.version != seen.version => WriteOutcome::Conflict,
            Some(_) => {
                self.reservations.remove(&seen.address);
                WriteOutcome::Done(None)
            }
        }
    }

    fn gate(&mut self, gate: &GateWrite) -> WriteOutcome {
        let pod = self.pods.get_mut(&gate.pod);
        let Some(pod) = pod.filter(|pod| pod.uid == gate.uid) else {
            return WriteOutcome::NotFound;
        };
        if gate.version.is_some_and(|version| version != pod.version) {
            return WriteOutcome::Conflict;
        }
        let condition = Some(Gate {
            status: gate.status,
            reason: gate.reason.as_str().to_owned(),
        });
        let before = self.messages.get(&pod.uid);
        let denied_at = before.and_then(|(_, denied_at)| *denied_at);
        let message = (gate.message.clone(), gate.denied_at.or(denied_at));
        if self
            .messages
            .insert(pod.uid.clone(), message.clone())
            .as_ref()
            != Some(&message)
            || pod.gate != condition
        {
            pod.gate = condition;
            next(&mut pod.version);
        }
        done(Written::Pod(pod.clone()))
    }

    fn label(&mut self, key: &PodKey, uid: &PodUid, label: Option<&IpName>) -> WriteOutcome {
        if self.pod(key, uid).is_none() {
            return WriteOutcome::NotFound;
        }
        self.change_pod(key, |pod| {
            pod.label = label.cloned();
            if label.is_none() {
                pod.ip = None;
            }
        });
        done(Written::Pod(self.pods[key].clone()))
    }

    /// Answers a quorum read for an IP.
    pub fn read(&self, of: &IpName, read: &Read) -> Fact {
        match read {
            Read::Pod(key) => Fact::PodRead(key.clone(), self.pods.get(key).cloned()),
            Read::Ip(name) => Fact::IpRead(name.clone(), self.ips.get(name).cloned()),
            Read::Node(name) => Fact::NodeRead(name.clone(), self.nodes.get(name).cloned()),
            Read::Reservation(address) => {
                Fact::ReservationRead(*address, self.reservations.get(address).cloned())
            }
            Read::Reservations(uid) => {
                let labelled = |held: &&Reservation| held.label.as_ref() == Some(uid);
                let ours = self.reservations.values().filter(labelled).cloned();
                Fact::ReservationsRead(uid.clone(), ours.collect())
            }
            Read::ReplicaSets(_, name) => match self.replica_sets.get(name) {
                None => Fact::ReadFailed(of.clone(), read.clone(), None),
                Some(set) => {
                    let same = |other: &&ReplicaSet| other.deployment == set.deployment;
                    let sets = self.replica_sets.values().filter(same).cloned().collect();
                    Fact::ReplicaSetsRead(set.uid.clone(), sets)
                }
            },
            // This read is a call of EC2.
            Read::Instance(_) => Fact::ReadFailed(of.clone(), read.clone(), None),
        }
    }

    /// The events of the watches for the changes since `before`, by kind. After a new list (`listed`) the deletion
    /// of pods was not seen.
    pub fn events_since(&self, before: &Self, listed: bool) -> Vec<(Kind, Fact)> {
        let mut events = Vec::new();
        let mut add =
            |kind, facts: Vec<Fact>| events.extend(facts.into_iter().map(|fact| (kind, fact)));
        let changes = changes(&before.blocks, &self.blocks, Fact::BlockGone, Fact::Block);
        add(Kind::Block, changes);
        add(Kind::Ip, changes_of(&before.ips, &self.ips));
        let changes = self::changes(&before.nodes, &self.nodes, Fact::NodeGone, Fact::Node);
        add(Kind::Node, changes);
        let gone = if listed {
            Fact::PodVanished
        } else {
            Fact::PodDeleted
        };
        add(
            Kind::Pod,
            self::changes(&before.labelled(), &self.labelled(), gone, Fact::Pod),
        );
        let (was, is) = (before.managed(), self.managed());
        add(
            Kind::Reservation,
            self::changes(&was, &is, Fact::ReservationGone, Fact::Reservation),
        );
        events
    }

    fn labelled(&self) -> BTreeMap<PodUid, Pod> {
        let labelled = self.pods.values().filter(|pod| pod.label.is_some());
        labelled.map(|pod| (pod.uid.clone(), pod.clone())).collect()
    }

    fn managed(&self) -> BTreeMap<Ipv4Addr, Reservation> {
        let managed = self.reservations.iter().filter(|(_, held)| held.managed);
        managed
            .map(|(address, held)| (*address, held.clone()))
            .collect()
    }
}

fn changes_of(before: &BTreeMap<IpName, Ip>, now: &BTreeMap<IpName, Ip>) -> Vec<Fact> {
    let gone = |ip: &Ip| Fact::IpGone(ip.name.clone(), ip.uid.clone());
    let went = before.values().filter(|ip| !now.contains_key(&ip.name));
    let came = now
        .iter()
        .filter(|(name, ip)| before.get(*name) != Some(*ip));
    went.map(gone)
        .chain(came.map(|(_, ip)| Fact::Ip(ip.clone())))
        .collect()
}

fn changes<K: Ord + Clone, V: PartialEq + Clone>(
    before: &BTreeMap<K, V>,
    now: &BTreeMap<K, V>,
    gone: fn(K) -> Fact,
    changed: fn(V) -> Fact,
) -> Vec<Fact> {
    let went = before.keys().filter(|key| !now.contains_key(*key));
    let came = now
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(*value));
    went.map(|key| gone(key.clone()))
        .chain(came.map(|(_, value)| changed(value.clone())))
        .collect()
}
