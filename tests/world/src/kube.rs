//! A small API server: compare-and-swap, UIDs, finalizers, garbage collection.

use std::collections::BTreeMap;

use mooring_plan::address::Address;
use mooring_plan::facts::{Fact, WriteOutcome, Written};
use mooring_plan::names::{BlockName, IpName, IpUid, NodeName, PodKey, PodUid, ResourceVersion};
use mooring_plan::objects::{Block, Gate, Ip, Node, NodeReport, Pod, ReplicaSet, Reservation};
use mooring_plan::step::{GateWrite, Read, Write};

use crate::node_parts::NodeParts;
use crate::objects;

/// The objects of the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kube {
    /// The version of the newest object, where one counter serves all objects, as in a real API server. `None`: each
    /// object counts its own versions. `plan` compares versions of the same object only, and so a model has fewer
    /// different states.
    newest: Option<u64>,
    uids: u64,
    pub ips: BTreeMap<IpName, Ip>,
    pub blocks: BTreeMap<BlockName, Block>,
    pub pods: BTreeMap<PodKey, Pod>,
    /// The message of the condition of each pod. A write with the same message changes nothing.
    messages: BTreeMap<PodUid, (String, Option<ResourceVersion>)>,
    pub nodes: BTreeMap<NodeName, Node>,
    pub node_reports: BTreeMap<NodeName, NodeReport>,
    /// The node parts (programs, not objects).
    pub node_parts: NodeParts,
    /// By name; all are in the namespace of the pods.
    pub replica_sets: BTreeMap<String, ReplicaSet>,
    pub reservations: BTreeMap<Address, Reservation>,
}

fn next(newest: &mut Option<u64>, version: &mut ResourceVersion) {
    match newest {
        Some(newest) => {
            *newest += 1;
            version.0 = *newest;
        }
        None => version.0 += 1,
    }
}

fn done(written: Written) -> WriteOutcome {
    WriteOutcome::Done(Some(written))
}

impl Kube {
    /// An API server in which one counter serves all objects.
    pub fn with_one_counter() -> Self {
        Self {
            newest: Some(0),
            ..Self::default()
        }
    }

    /// The next version for a new or changed object. A test that changes a map directly must call this too, so that
    /// watches notice the change.
    pub fn bump(&mut self) -> ResourceVersion {
        let mut version = ResourceVersion(0);
        next(&mut self.newest, &mut version);
        version
    }

    /// The version of the newest object.
    pub fn newest(&self) -> ResourceVersion {
        ResourceVersion(self.newest.unwrap_or(1))
    }

    pub fn new_uid(&mut self, kind: &str) -> String {
        self.uids += 1;
        format!("{kind}-{}", self.uids)
    }

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
        next(&mut self.newest, &mut ip.version);
        if ip.deleting && !ip.finalizer {
            self.ips.remove(name);
            self.collect_garbage();
        } else {
            self.ips.insert(name.clone(), ip.clone());
        }
        done(Written::Ip(ip))
    }

    /// Deletes every `IPAddress` whose owner is gone.
    fn collect_garbage(&mut self) {
        let orphan = |held: &&Reservation| {
            let owner = held.owner.as_ref();
            owner.is_some_and(|owner| self.ips.values().all(|ip| &ip.uid != owner))
        };
        let orphans = self.reservations.values().filter(orphan);
        let orphans: Vec<Address> = orphans.map(|held| held.address).collect();
        for address in orphans {
            self.delete_reservation(address);
        }
    }

    /// Deletes a reservation. If it has a finalizer, it is only marked as deleted.
    pub fn delete_reservation(&mut self, address: Address) {
        let Some(held) = self.reservations.get_mut(&address) else {
            return;
        };
        if !held.finalizer {
            self.reservations.remove(&address);
            self.bump();
        } else if !held.deleting {
            held.deleting = true;
            next(&mut self.newest, &mut held.version);
        }
    }

    /// A change of a pod, if it exists.
    pub fn change_pod(&mut self, key: &PodKey, change: impl FnOnce(&mut Pod)) {
        if let Some(pod) = self.pods.get_mut(key) {
            change(pod);
            next(&mut self.newest, &mut pod.version);
        }
    }

    /// Carries out a write.
    pub fn write(&mut self, write: &Write) -> WriteOutcome {
        match write {
            Write::AddFinalizer { ip: name, version } => {
                self.change_ip(name, Some(*version), |ip| {
                    ip.finalizer |= !ip.deleting;
                })
            }
            Write::RemoveFinalizer { ip: name, version } => {
                self.change_ip(name, Some(*version), |ip| ip.finalizer = false)
            }
            Write::DropTakeFrom { ip: name, version } => {
                self.change_ip(name, Some(*version), |ip| ip.take_from = None)
            }
            Write::Status {
                ip: name,
                version,
                status,
                ..
            } => self.change_ip(name, Some(*version), |ip| ip.status.clone_from(status)),
            Write::ReportUnreadable { .. } => unreachable!("every IP of a world can be read"),
            Write::Reserve {
                ip: name,
                uid,
                address,
                ..
            } => self.reserve(name, uid, *address),
            Write::RepairReservation {
                uid,
                reservation: seen,
                ..
            } => self.repair(uid, seen),
            Write::Release(seen) => self.release(seen),
            Write::Gate(gate) => self.gate(gate),
            Write::Label {
                pod: key,
                uid,
                ip: label,
            } => self.label(key, uid, label.as_ref()),
        }
    }

    /// Whether this write, which was decided earlier, can still change anything.
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
            Write::AddFinalizer { ip: name, version }
            | Write::RemoveFinalizer { ip: name, version }
            | Write::DropTakeFrom { ip: name, version }
            | Write::Status {
                ip: name, version, ..
            } => ip(name, version),
            Write::RepairReservation {
                reservation: seen, ..
            }
            | Write::Release(seen) => held(seen),
            Write::Gate(gate) => self
                .pod(&gate.pod, &gate.uid)
                .is_some_and(|pod| gate.version.is_none_or(|version| version == pod.version)),
            Write::Label { pod: key, uid, .. } => self.pod(key, uid).is_some(),
            Write::Reserve { .. } => true,
            Write::ReportUnreadable { .. } => false,
        }
    }

    pub fn reserve(&mut self, name: &IpName, uid: &IpUid, address: Address) -> WriteOutcome {
        if self.reservations.contains_key(&address) {
            return WriteOutcome::AlreadyExists;
        }
        let made = self.new_uid("ipaddress");
        let made = Reservation {
            version: self.bump(),
            ..objects::reservation(&made, address, name, uid)
        };
        self.reservations.insert(address, made.clone());
        done(Written::Reservation(made))
    }

    fn repair(&mut self, uid: &IpUid, seen: &Reservation) -> WriteOutcome {
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
        // The API server refuses a new finalizer on an object that is being deleted.
        held.finalizer |= !held.deleting;
        next(&mut self.newest, &mut held.version);
        done(Written::Reservation(held.clone()))
    }

    pub fn release(&mut self, seen: &Reservation) -> WriteOutcome {
        match self.reservations.get(&seen.address) {
            None => WriteOutcome::NotFound,
            Some(held) if held.uid != seen.uid => WriteOutcome::NotFound,
            Some(held) if held.version != seen.version => WriteOutcome::Conflict,
            Some(_) => {
                self.reservations.remove(&seen.address);
                self.bump();
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
            next(&mut self.newest, &mut pod.version);
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
            Read::ReplicaSets(key, _) => {
                let pod = self.pods.get(key);
                match pod.and_then(Pod::replica_set) {
                    None => Fact::PodRead(key.clone(), pod.cloned()),
                    Some((_, uid)) => Fact::ReplicaSetsRead(
                        uid.clone(),
                        self.replica_sets.values().cloned().collect(),
                    ),
                }
            }
            // This read is a call of EC2.
            Read::Instance(_) => Fact::ReadFailed {
                ip: of.clone(),
                read: read.clone(),
                outcome: None,
            },
        }
    }
}
