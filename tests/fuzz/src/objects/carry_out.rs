//! Every step is carried out as asked and answered at once.

use std::collections::BTreeSet;

use kube::core::DynamicObject;
use mooring::api::read;
use mooring_plan::classify::Outcome;
use mooring_plan::cloud::Reassign;
use mooring_plan::facts::{CallError, Fact, Facts, WriteOutcome, Written};
use mooring_plan::names::{BlockName, IpName, Millis, ReplicaSetUid, ResourceVersion};
use mooring_plan::objects::{Gate, Reservation, Says};
use mooring_plan::step::{BlockStep, Call, Read, Step, Write};
use serde_json::json;

use super::cluster::{BEGIN, Cluster};
use super::promises::{may_call, may_write, time, with_status};

/// Between two rounds.
const PAUSE: Millis = Millis::seconds(6);
/// So many steps of one object in a round.
const STEPS: u32 = 4;

/// The controller, and what it acts on.
pub struct Play {
    cluster: Cluster,
    facts: Facts,
    now: Millis,
    /// The sorts of steps that were taken.
    pub taken: BTreeSet<String>,
}

impl Play {
    pub const fn new(cluster: Cluster, facts: Facts) -> Self {
        Self {
            cluster,
            facts,
            now: BEGIN,
            taken: BTreeSet::new(),
        }
    }

    /// A few steps for everything.
    pub fn round(&mut self) {
        self.now = self.now.plus(PAUSE);
        for subnet in self.facts.subnets_wanted() {
            if self.facts.inventory_due(&subnet) <= self.now {
                let interfaces = self.cluster.interfaces.values();
                let list = interfaces
                    .filter(|interface| interface.subnet == subnet)
                    .cloned()
                    .collect();
                self.tell(Fact::InventoryBegun(subnet.clone()));
                self.tell(Fact::InventoryDone(subnet, list));
            }
        }
        for name in self.facts.block_names().cloned().collect::<Vec<_>>() {
            for step in self.facts.block_steps(&name, self.now).0 {
                self.block_step(&name, step);
            }
        }
        for name in self.facts.ip_names().cloned().collect::<Vec<_>>() {
            // What was read is good for a few seconds only: what it leads to follows at once.
            for _ in 0..STEPS {
                let Some(step) = self.facts.decide(&name, self.now).step else {
                    break;
                };
                self.taken.insert(sort(&step));
                let fact = match step {
                    Step::Read(read) => self.read(&name, read),
                    Step::Write(write) => self.write(&name, write),
                    Step::Call(call) => self.call(&name, call),
                };
                self.tell(fact);
            }
        }
    }

    fn tell(&mut self, fact: Fact) {
        self.facts.apply(fact, self.now, self.now);
    }

    fn read(&self, name: &IpName, read: Read) -> Fact {
        let cluster = &self.cluster;
        match read {
            Read::Pod(key) => {
                let pod = cluster.pods.values().find(|pod| pod.key == key).cloned();
                Fact::PodRead(key, pod)
            }
            Read::Ip(of) => match cluster.ip_fact(&of) {
                Some(Fact::Ip(ip)) => Fact::IpRead(of, Some(ip)),
                Some(unreadable) => unreadable,
                None => Fact::IpRead(of, None),
            },
            Read::Node(node) => {
                let found = cluster.nodes.get(&node).cloned();
                Fact::NodeRead(node, found)
            }
            Read::Reservation(address) => {
                Fact::ReservationRead(address, cluster.reservations.get(&address).cloned())
            }
            Read::Reservations(uid) => {
                let of = |reservation: &&Reservation| reservation.label.as_ref() == Some(&uid);
                let list = cluster.reservations.values().filter(of).cloned().collect();
                Fact::ReservationsRead(uid, list)
            }
            Read::ReplicaSets(key, set) => {
                let pod = cluster.pods.values().find(|pod| pod.key == key);
                let uid = pod
                    .and_then(|pod| pod.replica_set.clone())
                    .map(|(_, uid)| uid);
                match uid {
                    Some(uid) => Fact::ReplicaSetsRead(uid, cluster.replica_sets.clone()),
                    None => Fact::ReplicaSetsRead(ReplicaSetUid::new(set), Vec::new()),
                }
            }
            Read::Instance(id) => {
                Fact::ReadFailed(name.clone(), Read::Instance(id), Some(Outcome::Unknown))
            }
        }
    }

    fn call(&mut self, name: &IpName, call: Call) -> Fact {
        let durable = read::ip(&self.cluster.ips[name]).unwrap();
        may_call(&durable, &call);
        let failed = |outcome: Outcome| CallError {
            outcome,
            code: outcome.to_string(),
            message: String::new(),
        };
        let interfaces = &mut self.cluster.interfaces;
        let (id, address) = (call.interface().clone(), call.address());
        let on = interfaces
            .values()
            .find(|interface| interface.addresses.contains(&address));
        let primary = on.is_some_and(|on| on.primary == Some(address));
        let on = on.map(|on| on.id.clone());
        let result = match &call {
            _ if !interfaces.contains_key(&id) => Err(Outcome::InterfaceNotFound),
            Call::Assign(_, _, Reassign::Refuse) if on.as_ref().is_some_and(|on| on != &id) => {
                Err(Outcome::AssignedElsewhere)
            }
            Call::Unassign(..) if on.as_ref() != Some(&id) => Err(Outcome::Done),
            Call::Assign(..) if self.cluster.full.contains(&id) => Err(Outcome::NoRoom),
            _ if primary => Err(Outcome::Primary),
            _ => Ok(()),
        };
        if result.is_ok() {
            for interface in interfaces.values_mut() {
                interface.addresses.remove(&address);
                if matches!(call, Call::Assign(..)) && interface.id == id {
                    interface.addresses.insert(address);
                }
            }
        }
        Fact::Called(name.clone(), call, result.map_err(failed))
    }

    fn write(&mut self, name: &IpName, write: Write) -> Fact {
        let outcome = self.written(name, &write).unwrap_or(WriteOutcome::NotFound);
        Fact::Wrote(name.clone(), write, outcome)
    }

    fn written(&mut self, name: &IpName, write: &Write) -> Option<WriteOutcome> {
        let cluster = &mut self.cluster;
        match write {
            Write::Gate(gate) => {
                let pod = cluster.pods.get_mut(&gate.uid)?;
                pod.gate = Some(Gate {
                    status: gate.status,
                    reason: gate.reason.as_str().to_owned(),
                });
                pod.version = next(pod.version);
                return Some(WriteOutcome::Done(Some(Written::Pod(pod.clone()))));
            }
            Write::Label(_, uid, label) => {
                let pod = cluster.pods.get_mut(uid)?;
                pod.label.clone_from(label);
                pod.version = next(pod.version);
                return Some(WriteOutcome::Done(Some(Written::Pod(pod.clone()))));
            }
            Write::Reserve(of, uid, _, address) => {
                if cluster.reservations.contains_key(address) {
                    return Some(WriteOutcome::AlreadyExists);
                }
                let made = Reservation {
                    address: *address,
                    uid: format!("made-for-{of}"),
                    version: ResourceVersion(1),
                    deleting: false,
                    finalizer: true,
                    parent: Some(of.clone()),
                    parent_text: format!("IP {of}"),
                    label: Some(uid.clone()),
                    owner: Some(uid.clone()),
                    managed: true,
                };
                cluster.reservations.insert(*address, made.clone());
                return Some(WriteOutcome::Done(Some(Written::Reservation(made))));
            }
            Write::MendReservation(of, uid, _, known) => {
                let mended = cluster.reservations.get_mut(&known.address)?;
                // Ours is what bears our UID, or of our name what bears nobody's who lives.
                let marks = [mended.label.as_ref(), mended.owner.as_ref()];
                assert!(
                    marks.contains(&Some(uid)) || mended.parent.as_ref() == Some(of),
                    "another's reservation is mended: {mended:?}"
                );
                mended.version = next(mended.version);
                (mended.label, mended.owner) = (Some(uid.clone()), Some(uid.clone()));
                (mended.finalizer, mended.managed) = (true, true);
                let mended = mended.clone();
                return Some(WriteOutcome::Done(Some(Written::Reservation(mended))));
            }
            Write::Release(reservation) => {
                cluster.reservations.remove(&reservation.address)?;
                self.facts.apply(
                    Fact::ReservationGone(reservation.address),
                    self.now,
                    self.now,
                );
                return Some(WriteOutcome::Done(None));
            }
            Write::AddFinalizer(..)
            | Write::RemoveFinalizer(..)
            | Write::DropTakeFrom(..)
            | Write::Status(..)
            | Write::SayUnreadable(..) => {}
        }
        self.written_ip(name, write)
    }

    /// A write of an `IP`, guarded by its version.
    fn written_ip(&mut self, name: &IpName, write: &Write) -> Option<WriteOutcome> {
        let object = self.cluster.ips.get_mut(name)?;
        let (Write::AddFinalizer(_, guard)
        | Write::RemoveFinalizer(_, guard)
        | Write::DropTakeFrom(_, guard)
        | Write::Status(_, guard, ..)
        | Write::SayUnreadable(_, guard, _)) = write
        else {
            return None;
        };
        if version_of(object) != Some(*guard) {
            return Some(WriteOutcome::Conflict);
        }
        object.metadata.resource_version = Some(next(*guard).to_string());
        match write {
            Write::AddFinalizer(..) => {
                let finalizers = object.metadata.finalizers.get_or_insert_default();
                finalizers.push(mooring::api::names::IP_FINALIZER.to_owned());
            }
            Write::RemoveFinalizer(..) => {
                let ip = read::ip(object).unwrap();
                assert!(ip.deleting && ip.status.claim.is_none(), "{ip:?}");
                self.cluster.ips.remove(name);
                self.facts
                    .apply(Fact::IpGone(ip.name, ip.uid), self.now, self.now);
                return Some(WriteOutcome::Done(None));
            }
            Write::DropTakeFrom(..) => {
                object
                    .metadata
                    .annotations
                    .as_mut()?
                    .remove(mooring::api::names::TAKE_FROM_ANNOTATION);
            }
            Write::Status(_, _, what, status) => {
                let before = read::ip(object).unwrap();
                may_write(&before, *what, status);
                *object = with_status(object, status);
                assert_eq!(&read::ip(object).unwrap().status, status, "{what:?}");
            }
            Write::SayUnreadable(_, _, message) => {
                let patch = read::unreadable_ip_patch(object, message, &time()).unwrap();
                json_patch::merge(&mut object.data, &patch);
                let says = read::unreadable_ip(object, String::new()).unwrap().says;
                assert_eq!(says, Says::Unreadable(message.clone()));
            }
            _ => return None,
        }
        Some(WriteOutcome::Done(match self.cluster.ip_fact(name)? {
            Fact::Ip(ip) => Some(Written::Ip(ip)),
            unreadable => {
                self.tell(unreadable);
                None
            }
        }))
    }

    fn block_step(&mut self, name: &BlockName, step: BlockStep) {
        match step {
            BlockStep::ReadSubnet(id) => {
                self.tell(Fact::SubnetRead(
                    id,
                    vec!["203.0.113.0/24".parse().unwrap()],
                ));
            }
            BlockStep::ReadLimits(types) => {
                let limits = types.into_iter().map(|kind| (kind, 3)).collect();
                self.tell(Fact::LimitsRead(limits));
            }
            BlockStep::Label(node, block, on) => {
                let Some(node) = self.cluster.nodes.get_mut(&node) else {
                    return;
                };
                if on {
                    node.labels.insert(block.node_label(), String::new());
                } else {
                    node.labels.remove(&block.node_label());
                }
                let node = node.clone();
                self.tell(Fact::Node(node));
            }
            BlockStep::ReadIp(of) => {
                let fact = self.read(&of.clone(), Read::Ip(of));
                self.tell(fact);
            }
            BlockStep::Release(reservation) => {
                self.cluster.reservations.remove(&reservation.address);
                self.tell(Fact::ReservationGone(reservation.address));
            }
            BlockStep::AddFinalizer(..)
            | BlockStep::RemoveFinalizer(..)
            | BlockStep::DropReleaseBrake(..)
            | BlockStep::Status(..) => self.write_block(name, step),
        }
    }

    fn write_block(&mut self, name: &BlockName, step: BlockStep) {
        let object = self.cluster.blocks.get_mut(name).unwrap();
        let version = version_of(object).unwrap();
        object.metadata.resource_version = Some(next(version).to_string());
        match step {
            BlockStep::AddFinalizer(..) => {
                let finalizers = object.metadata.finalizers.get_or_insert_default();
                finalizers.push(mooring::api::names::BLOCK_FINALIZER.to_owned());
            }
            BlockStep::RemoveFinalizer(..) => {
                let block = read::block(object).unwrap();
                assert!(block.deleting, "{block:?}");
                self.cluster.blocks.remove(name);
                return self.tell(Fact::BlockGone(name.clone()));
            }
            BlockStep::DropReleaseBrake(..) => {
                let annotations = object.metadata.annotations.as_mut().unwrap();
                annotations.remove(mooring::api::names::RELEASE_BRAKE_ANNOTATION);
            }
            BlockStep::Status(_, _, status) => {
                let before = object.data.get("status").cloned().unwrap_or_default();
                let before = serde_json::from_value(before).unwrap_or_default();
                let patch = read::block_status_patch(&status, &before, &time()).unwrap();
                json_patch::merge(&mut object.data, &json!({ "status": patch }));
                assert_eq!(read::block(object).unwrap().status, status);
            }
            _ => {}
        }
        let fact = self.cluster.block_fact(name);
        self.tell(fact.unwrap());
    }
}

/// `Claim`, `Assign`, `Reserve`: the step without what it is about.
fn sort(step: &Step) -> String {
    let words = match step {
        Step::Write(Write::Status(_, _, what, _)) => format!("{what:?}"),
        Step::Write(write) => format!("{write:?}"),
        Step::Read(read) => format!("Read{read:?}"),
        Step::Call(call) => format!("{call:?}"),
    };
    let end = words.find('(').unwrap_or(words.len());
    words[..end].to_owned()
}

fn version_of(object: &DynamicObject) -> Option<ResourceVersion> {
    read::version(object.metadata.resource_version.as_deref()?).ok()
}

/// The version after this one.
fn next(version: ResourceVersion) -> ResourceVersion {
    ResourceVersion(version.0.saturating_add(1))
}
