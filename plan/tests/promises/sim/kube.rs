//! An API server of a few maps: versions that only grow, compare-and-swap, UIDs, finalizers.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use mooring_plan::facts::{WriteOutcome, Written};
use mooring_plan::names::{BlockName, IpName, IpUid, NodeName, PodKey, PodUid, ResourceVersion};
use mooring_plan::objects::{Block, Gate, Ip, IpStatus, Node, Pod, ReplicaSet, Reservation};
use mooring_plan::step::GateWrite;

/// What the API server has.
#[derive(Clone, Default)]
pub struct Kube {
    version: u64,
    uids: u64,
    pub ips: BTreeMap<IpName, Ip>,
    pub blocks: BTreeMap<BlockName, Block>,
    pub pods: BTreeMap<PodKey, Pod>,
    /// The message of each pod's condition, and the version that it was denied at: they decide whether a
    /// write changes anything.
    messages: BTreeMap<PodUid, (String, Option<ResourceVersion>)>,
    pub nodes: BTreeMap<NodeName, Node>,
    /// By name; all live in the namespace "default".
    pub replica_sets: BTreeMap<String, ReplicaSet>,
    pub reservations: BTreeMap<Ipv4Addr, Reservation>,
}

fn done(written: Written) -> WriteOutcome {
    WriteOutcome::Done(Some(written))
}

impl Kube {
    pub fn bump(&mut self) -> ResourceVersion {
        self.version += 1;
        ResourceVersion(self.version)
    }

    pub fn new_uid(&mut self, kind: &str) -> String {
        self.uids += 1;
        format!("{kind}-{}", self.uids)
    }

    /// The version of the newest object.
    pub fn newest(&self) -> ResourceVersion {
        ResourceVersion(self.version)
    }

    /// A change of an IP by somebody, or by us where `version` is the present one.
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
        ip.version = self.bump();
        if ip.deleting && !ip.finalizer {
            self.ips.remove(name);
            self.collect_garbage();
            return done(Written::Ip(ip));
        }
        self.ips.insert(name.clone(), ip.clone());
        done(Written::Ip(ip))
    }

    pub fn write_status(
        &mut self,
        name: &IpName,
        version: ResourceVersion,
        status: IpStatus,
    ) -> WriteOutcome {
        self.change_ip(name, Some(version), |ip| ip.status = status)
    }

    /// What the garbage collector does with `IPAddress`es whose owner is gone.
    fn collect_garbage(&mut self) {
        let living: Vec<IpUid> = self.ips.values().map(|ip| ip.uid.clone()).collect();
        let orphans: Vec<Ipv4Addr> = self
            .reservations
            .values()
            .filter(|held| {
                held.owner
                    .as_ref()
                    .is_some_and(|owner| !living.contains(owner))
            })
            .map(|held| held.address)
            .collect();
        for address in orphans {
            self.delete_reservation(address);
        }
    }

    pub fn delete_reservation(&mut self, address: Ipv4Addr) {
        let version = self.bump();
        if let Some(held) = self.reservations.get_mut(&address) {
            if !held.finalizer {
                self.reservations.remove(&address);
            } else if !held.deleting {
                held.deleting = true;
                held.version = version;
            }
        }
    }

    pub fn reserve(&mut self, name: &IpName, uid: &IpUid, address: Ipv4Addr) -> WriteOutcome {
        if self.reservations.contains_key(&address) {
            return WriteOutcome::AlreadyExists;
        }
        let reservation = Reservation {
            address,
            uid: self.new_uid("ipaddress"),
            version: self.bump(),
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

    pub fn mend(&mut self, uid: &IpUid, seen: &Reservation) -> WriteOutcome {
        let version = ResourceVersion(self.version + 1);
        let Some(held) = self.reservations.get_mut(&seen.address) else {
            return WriteOutcome::NotFound;
        };
        if held.uid != seen.uid {
            return WriteOutcome::NotFound;
        }
        if held.version != seen.version {
            return WriteOutcome::Conflict;
        }
        held.label = Some(uid.clone());
        held.owner = Some(uid.clone());
        held.managed = true;
        // The API server takes no new finalizer on an object that is being deleted.
        held.finalizer |= !held.deleting;
        held.version = version;
        self.version += 1;
        done(Written::Reservation(
            self.reservations[&seen.address].clone(),
        ))
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

    pub fn gate(&mut self, gate: &GateWrite) -> WriteOutcome {
        let version = ResourceVersion(self.version + 1);
        let Some(pod) = self.pods.get_mut(&gate.pod) else {
            return WriteOutcome::NotFound;
        };
        if pod.uid != gate.uid {
            return WriteOutcome::NotFound;
        }
        if gate.version.is_some_and(|version| version != pod.version) {
            return WriteOutcome::Conflict;
        }
        let condition = Some(Gate {
            status: gate.status,
            reason: gate.reason.as_str().to_owned(),
        });
        let before = self.messages.get(&pod.uid);
        let denied_at = before.and_then(|(_, denied_at)| *denied_at);
        let said = (gate.message.clone(), gate.denied_at.or(denied_at));
        if self.messages.insert(pod.uid.clone(), said.clone()).as_ref() != Some(&said)
            || pod.gate != condition
        {
            pod.gate = condition;
            pod.version = version;
            self.version += 1;
        }
        done(Written::Pod(pod.clone()))
    }

    pub fn label(&mut self, key: &PodKey, uid: &PodUid, label: Option<&IpName>) -> WriteOutcome {
        if self.pods.get(key).is_none_or(|pod| &pod.uid != uid) {
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

    /// A change of a pod by somebody; nothing if there is no such pod.
    pub fn change_pod(&mut self, key: &PodKey, change: impl FnOnce(&mut Pod)) {
        let version = self.bump();
        if let Some(pod) = self.pods.get_mut(key) {
            change(pod);
            pod.version = version;
        }
    }
}
