//! Executes every step exactly and at once, without faults.

mod blocks;
mod writes;

use std::collections::BTreeSet;
use std::time::Duration;

use kube::core::DynamicObject;
use mooring::api::read;
use mooring_plan::cloud::Reassign;
use mooring_plan::facts::{CallError, Fact, Facts};
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::Reservation;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Call, Read, Step, Write};
use mooring_plan::time::Instant;

use super::cluster::{BEGIN, Cluster};
use super::promises::may_call;

/// The time between two rounds.
const PAUSE: Duration = Duration::from_secs(6);
/// The number of steps of one object in a round.
const STEPS: u32 = 4;

/// The state of the controller, and the cluster that it changes.
pub struct Execution {
    cluster: Cluster,
    facts: Facts,
    now: Instant,
    /// The kinds of steps that were executed.
    pub taken: BTreeSet<String>,
}

impl Execution {
    pub const fn new(cluster: Cluster, facts: Facts) -> Self {
        Self {
            cluster,
            facts,
            now: BEGIN,
            taken: BTreeSet::new(),
        }
    }

    /// Executes a few steps for every object.
    pub fn round(&mut self) {
        self.now = self.now.plus(PAUSE);
        for subnet in self.facts.subnets_wanted() {
            if self.facts.inventory_due(&subnet) <= self.now {
                let interfaces = self.cluster.interfaces.values();
                let list = interfaces
                    .filter(|interface| interface.subnet == subnet)
                    .cloned()
                    .collect();
                self.deliver(Fact::InventoryBegun(subnet.clone()));
                self.deliver(Fact::InventoryDone(subnet, list));
            }
        }
        for name in self.facts.block_names().cloned().collect::<Vec<_>>() {
            for step in self.facts.block_steps(&name, self.now).0 {
                self.block_step(&name, step);
            }
        }
        for name in self.facts.ip_names().cloned().collect::<Vec<_>>() {
            // A read is fresh for only a few seconds, so the steps that follow from it are executed in the same round.
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
                self.deliver(fact);
            }
        }
    }

    fn deliver(&mut self, fact: Fact) {
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
            Read::ReplicaSets(key, _) => {
                let pod = cluster.pods.values().find(|pod| pod.key == key);
                match pod.and_then(|pod| pod.replica_set()) {
                    Some((_, uid)) => {
                        Fact::ReplicaSetsRead(uid.clone(), cluster.replica_sets.clone())
                    }
                    None => Fact::PodRead(key, pod.cloned()),
                }
            }
            Read::Instance(id) => Fact::ReadFailed {
                ip: name.clone(),
                read: Read::Instance(id),
                outcome: Some(Outcome::Unknown),
            },
        }
    }

    fn call(&mut self, name: &IpName, call: Call) -> Fact {
        let durable = read::ip(&self.cluster.ips[name]).unwrap();
        may_call(&durable, &call);
        let failed = |outcome: Outcome| CallError::new(outcome, outcome.to_string());
        let interfaces = &mut self.cluster.interfaces;
        let (id, address) = (call.interface().clone(), call.address());
        let on = interfaces
            .values()
            .find(|interface| interface.addresses.contains(&address));
        let primary = on.is_some_and(|on| on.primary == Some(address));
        let on = on.map(|on| on.id.clone());
        let result = match &call {
            _ if !interfaces.contains_key(&id) => Err(Outcome::InterfaceNotFound),
            Call::Assign {
                reassign: Reassign::Refuse,
                ..
            } if on.as_ref().is_some_and(|on| on != &id) => Err(Outcome::AssignedElsewhere),
            Call::Unassign { .. } if on.as_ref() != Some(&id) => Err(Outcome::Done),
            Call::Assign { .. } if self.cluster.full.contains(&id) => Err(Outcome::NoRoom),
            _ if primary => Err(Outcome::Primary),
            _ => Ok(()),
        };
        if result.is_ok() {
            for interface in interfaces.values_mut() {
                interface.addresses.remove(&address);
                if matches!(call, Call::Assign { .. }) && interface.id == id {
                    interface.addresses.insert(address);
                }
            }
        }
        Fact::Called {
            ip: name.clone(),
            call,
            result: result.map_err(failed),
        }
    }
}

/// The kind of a step without its arguments: `Claim`, `Assign`, `Reserve`.
fn sort(step: &Step) -> String {
    let words = match step {
        Step::Write(Write::Status { change, .. }) => format!("{change:?}"),
        Step::Write(write) => format!("{write:?}"),
        Step::Read(read) => format!("Read{read:?}"),
        Step::Call(call) => format!("{call:?}"),
    };
    let end = words.find(['(', ' ']).unwrap_or(words.len());
    words[..end].to_owned()
}

fn version_of(object: &DynamicObject) -> Option<ResourceVersion> {
    read::version(object.metadata.resource_version.as_deref()?).ok()
}

/// The version after this one.
fn next(version: ResourceVersion) -> ResourceVersion {
    ResourceVersion(version.0.saturating_add(1))
}
