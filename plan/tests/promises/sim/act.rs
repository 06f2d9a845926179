//! What is done for a step: a request to the world, and its answer told as a fact.

use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::names::{IpName, Millis, SubnetId};
use mooring_plan::step::{BlockStep, Call, Read, Step, Write};

use super::Sim;

impl Sim {
    pub fn carry_out(&mut self, controller: usize, name: &IpName, step: &Step) {
        self.note(format!("[{controller}] {name}: {}", brief(step)));
        self.check_before(controller, name, step);
        self.taken.push((self.now, name.clone(), step.clone()));
        let begun = self.now;
        let fact = match step.clone() {
            Step::Read(read) => self.read(name, read),
            Step::Write(write) => {
                let lost = self.lost_answers.pop_front().unwrap_or(false);
                let outcome = if (self.refuses)(&write) {
                    WriteOutcome::Unknown
                } else {
                    self.write(write.clone())
                };
                let outcome = if lost { WriteOutcome::Unknown } else { outcome };
                if !matches!(outcome, WriteOutcome::Done(_)) {
                    self.note(format!("    {outcome:?}"));
                }
                Fact::Wrote(name.clone(), write, outcome)
            }
            Step::Call(call) => {
                match call {
                    Call::Assign(..) => self.counts.assigns += 1,
                    Call::Unassign(..) => self.counts.unassigns += 1,
                }
                let begins = Fact::CallBegun(name.clone(), call.clone());
                let facts = &mut self.controllers[controller].facts;
                facts.apply(begins, begun, begun);
                let result = self.ec2.answer(&call, self.now);
                if let Err(error) = &result {
                    self.note(format!("    {:?}", error.outcome));
                }
                Fact::Called(name.clone(), call, result)
            }
        };
        self.now = self.now.plus(Millis(1));
        self.controllers[controller].hear(fact, Some(name), begun, self.now);
        self.tell(controller);
        self.check_after(controller, name, step);
    }

    fn read(&mut self, name: &IpName, read: Read) -> Fact {
        let kube = &self.kube;
        match read {
            Read::Instance(id) => {
                self.counts.describes += 1;
                if let Some(outcome) = self.describe_fails {
                    return Fact::ReadFailed(name.clone(), Read::Instance(id), Some(outcome));
                }
                let state = self.ec2.instances.get(&id).copied();
                Fact::InstanceRead(id, state)
            }
            read if self.reads_fail => Fact::ReadFailed(name.clone(), read, None),
            Read::Pod(key) => {
                let pod = kube.pods.get(&key).cloned();
                Fact::PodRead(key, pod)
            }
            Read::Ip(name) => {
                let ip = kube.ips.get(&name).cloned();
                Fact::IpRead(name, ip)
            }
            Read::Node(name) => {
                let node = kube.nodes.get(&name).cloned();
                Fact::NodeRead(name, node)
            }
            Read::Reservation(address) => {
                Fact::ReservationRead(address, kube.reservations.get(&address).cloned())
            }
            Read::Reservations(uid) => {
                let ours = kube
                    .reservations
                    .values()
                    .filter(|held| held.label.as_ref() == Some(&uid))
                    .cloned()
                    .collect();
                Fact::ReservationsRead(uid, ours)
            }
            Read::ReplicaSets(key, set_name) => {
                let set = kube.replica_sets.get(&set_name);
                let uid = set.map(|set| set.uid.clone()).or_else(|| {
                    let pods = kube.pods.values().find(|pod| pod.key == key);
                    pods.and_then(|pod| pod.replica_set().map(|(_, uid)| uid.clone()))
                });
                match uid {
                    None => Fact::ReadFailed(name.clone(), Read::ReplicaSets(key, set_name), None),
                    Some(uid) => {
                        let same = |other: &&mooring_plan::objects::ReplicaSet| {
                            other.uid == uid
                                || set.is_some_and(|set| {
                                    set.deployment.is_some() && set.deployment == other.deployment
                                })
                        };
                        let sets = kube.replica_sets.values().filter(same).cloned().collect();
                        Fact::ReplicaSetsRead(uid, sets)
                    }
                }
            }
        }
    }

    fn write(&mut self, write: Write) -> WriteOutcome {
        match write {
            Write::Status(name, version, _, status) => {
                self.counts.status_writes += 1;
                self.kube.write_status(&name, version, status)
            }
            Write::Gate(gate) => {
                self.counts.gate_writes += 1;
                self.kube.gate(&gate)
            }
            other => {
                self.counts.other_writes += 1;
                match other {
                    Write::AddFinalizer(name, version) => {
                        self.kube.change_ip(&name, Some(version), |ip| {
                            ip.finalizer |= !ip.deleting;
                        })
                    }
                    Write::RemoveFinalizer(name, version) => {
                        self.kube
                            .change_ip(&name, Some(version), |ip| ip.finalizer = false)
                    }
                    Write::DropTakeFrom(name, version) => {
                        self.kube
                            .change_ip(&name, Some(version), |ip| ip.take_from = None)
                    }
                    Write::Reserve(name, uid, _, address) => {
                        self.kube.reserve(&name, &uid, address)
                    }
                    Write::MendReservation(_, uid, _, seen) => self.kube.mend(&uid, &seen),
                    Write::Release(seen) => self.kube.release(&seen),
                    Write::Label(key, uid, label) => self.kube.label(&key, &uid, label.as_ref()),
                    Write::Status(..) | Write::Gate(_) | Write::SayUnreadable(..) => unreachable!(),
                }
            }
        }
    }

    /// Blocks' own steps: only what IPs depend on.
    pub fn block_steps(&mut self, controller: usize) {
        let facts = &self.controllers[controller].facts;
        let names: Vec<_> = facts.block_names().cloned().collect();
        let steps: Vec<BlockStep> = names
            .iter()
            .flat_map(|name| facts.block_steps(name, self.now).0)
            .collect();
        let now = self.now;
        for step in steps {
            let told = &mut self.controllers[controller];
            match step {
                BlockStep::ReadSubnet(id) => {
                    self.counts.describes += 1;
                    let fact = if let Some(outcome) = self.describe_fails {
                        Fact::SubnetFailed(id, outcome)
                    } else {
                        let cidrs = vec![self.range.parse().unwrap()];
                        Fact::SubnetRead(id, cidrs)
                    };
                    told.hear(fact, None, now, now);
                }
                BlockStep::ReadLimits(types) => {
                    let limits = types
                        .into_iter()
                        .map(|kind| (kind, self.ec2.limit))
                        .collect();
                    told.hear(Fact::LimitsRead(limits), None, now, now);
                }
                _ => {}
            }
        }
        self.inventories(controller);
    }

    fn inventories(&mut self, controller: usize) {
        let facts = &self.controllers[controller].facts;
        let due: Vec<SubnetId> = facts
            .subnets_wanted()
            .into_iter()
            .filter(|subnet| facts.inventory_due(subnet) <= self.now)
            .collect();
        for subnet in due {
            // One that is begun in the very moment of an answer does not count for it, and is begun again.
            self.now = self.now.plus(Millis(1));
            let begun = self.now;
            let list = self.ec2.describe(begun);
            self.now = self.now.plus(Millis(1));
            self.counts.inventories += 1;
            self.rules.inventory(controller, begun);
            let told = &mut self.controllers[controller];
            told.hear(Fact::InventoryBegun(subnet.clone()), None, begun, begun);
            let fact = match self.describe_fails {
                Some(outcome) => Fact::InventoryFailed(subnet.clone(), outcome),
                None => Fact::InventoryDone(subnet.clone(), list),
            };
            told.hear(fact, None, begun, self.now);
            let due = told.facts.inventory_due(&subnet);
            assert!(due > self.now, "an inventory is due again at once");
        }
    }
}

/// A step in one line.
fn brief(step: &Step) -> String {
    match step {
        Step::Write(Write::Status(_, version, what, status)) => format!(
            "status {what:?} from {version}: claim {:?}, previous {:?}, refused {:?}, attached {:?}",
            status.claim.as_ref().map(|claim| (&claim.uid, &claim.hold)),
            status
                .previous
                .iter()
                .map(|entry| (
                    entry.address,
                    &entry.interface,
                    entry.holder.as_ref().map(|(_, uid)| uid)
                ))
                .collect::<Vec<_>>(),
            status.refused,
            status.conditions.attached.as_ref().map(|said| said.reason),
        ),
        Step::Write(Write::Gate(gate)) => format!(
            "gate {} ({}) {} {}",
            gate.pod,
            gate.uid,
            gate.status,
            gate.reason.as_str()
        ),
        other => format!("{other:?}"),
    }
}
