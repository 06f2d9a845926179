//! What the effects of the engine do in this world, and how long each takes.

use std::time::Duration;

use mooring_plan::engine::{Completion, Effect, Event, Work};
use mooring_plan::facts::{Fact, WriteOutcome, Written};
use mooring_plan::names::IpName;
use mooring_plan::step::{CallGroup, Read};
use mooring_world::engine::answer;

use crate::world::World;

/// The time from a request to its answer.
const READ: Duration = Duration::from_millis(2);
const WRITE: Duration = Duration::from_millis(7);
const EC2: Duration = Duration::from_millis(20);

impl World {
    pub fn begin(&mut self, effect: Effect) {
        let (takes, event) = match effect {
            Effect::Read(ip, read) => (READ, self.read(ip, &read)),
            Effect::Write { ip, write, .. } => {
                self.writes += 1;
                let outcome = self.kube.write(&write);
                let fact = Fact::Wrote {
                    ip: ip.clone(),
                    write,
                    outcome,
                };
                (WRITE, completed(Work::Ip(ip), fact))
            }
            Effect::Calls(group, ips) => {
                self.calls += 1;
                let interface = self.interfaces.get_mut(group.interface()).unwrap();
                for (_, address) in &ips {
                    match group {
                        CallGroup::Assign { .. } => interface.addresses.insert(*address),
                        CallGroup::Unassign(_) => interface.addresses.remove(address),
                    };
                }
                (EC2, Event::Called(group, ips, Ok(())))
            }
            Effect::BlockSteps(block, steps) => {
                let mut facts = Vec::new();
                for step in steps {
                    facts.extend(self.kube.block_step(&block, &step));
                    facts.extend(answer(step, "10.0.0.0/8", 50));
                }
                (EC2, Event::Completed(Work::Block(block), facts.into()))
            }
            Effect::Inventory(subnet) => {
                let list = self.interfaces.values().cloned().collect();
                let fact = Fact::InventoryDone(subnet.clone(), list);
                (EC2, completed(Work::Inventory(subnet), fact))
            }
            Effect::ListIps => {
                let ips = self.kube.ips.values().cloned().collect();
                (READ, completed(Work::Ips, Fact::IpsRead(ips)))
            }
            Effect::NodeStep(..) => panic!("no node fails here"),
            Effect::Post(_) | Effect::Report(_) | Effect::Resign => return,
        };
        self.begun += 1;
        self.in_flight
            .insert((self.now.plus(takes), self.begun), event);
    }

    fn read(&self, ip: IpName, read: &Read) -> Event {
        let fact = self.kube.read(&ip, read);
        completed(Work::Ip(ip), fact)
    }

    /// The answer, and what the watch then shows.
    pub fn end(&mut self, event: Event) {
        let written = match &event {
            Event::Completed(_, Completion { facts, .. }) => match facts.first() {
                Some(Fact::Wrote {
                    outcome: WriteOutcome::Done(Some(written)),
                    ..
                }) => Some(written.clone()),
                _ => None,
            },
            _ => None,
        };
        self.event(event);
        match written {
            Some(Written::Ip(ip)) => self.event(Event::Fact(Fact::Ip(ip))),
            Some(Written::Pod(pod)) => self.event(Event::Fact(Fact::Pod(pod))),
            Some(Written::Reservation(held)) => self.event(Event::Fact(Fact::Reservation(held))),
            None => {}
        }
    }
}

fn completed(work: Work, fact: Fact) -> Event {
    Event::Completed(work, fact.into())
}
