//! The effects of the paced engine: how long each takes, and what it does when it ends.

use std::time::Duration;

use mooring_plan::engine::{Completion, Effect, Event, Report, Work};
use mooring_plan::facts::Fact;
use mooring_plan::step::{NodeStep, Read, Write};
use mooring_world::engine::answer;

use crate::paced::{EC2, Ends, Paced, RANGE, READ, WRITE};

/// After this time a request to EC2 fails.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Paced {
    /// Runs the world for this time.
    pub fn run(&mut self, length: Duration) {
        let until = self.now.plus(length);
        loop {
            let mut begun = 0;
            while let Some(effect) = self.engine.poll(self.now) {
                self.begin(effect);
                begun += 1;
                assert!(begun < 10_000, "more and more at once");
            }
            let wake = self.engine.wake_at(self.now);
            assert!(wake > self.now, "to be called again at once");
            let ends = self.in_flight.keys().next().map(|(at, _)| *at);
            let next = ends.map_or(wake, |ends| ends.min(wake));
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            if ends.is_none_or(|ends| wake < ends) {
                self.wakes += 1;
            }
            while let Some(entry) = self.in_flight.first_entry()
                && entry.key().0 <= self.now
            {
                let ended = entry.remove();
                self.end(ended);
            }
        }
    }

    fn begin(&mut self, effect: Effect) {
        let takes = match &effect {
            Effect::Post(notice) => {
                self.notices.push(notice.clone());
                return;
            }
            Effect::Report(report) => {
                if let Report::Failover(part, took) = report {
                    self.failovers.push((*part, *took));
                }
                self.reports.push((self.now, report.clone()));
                return;
            }
            Effect::Resign => return,
            Effect::Read(_, Read::Instance(id)) => {
                self.instance_reads.push((self.now, id.clone()));
                if self.instances_hang { TIMEOUT } else { EC2 }
            }
            Effect::Read(..) | Effect::ListIps => READ,
            Effect::Write {
                write: Write::Reserve { .. },
                ..
            } => self.create_takes,
            Effect::Write { .. } => WRITE,
            Effect::NodeStep(_, NodeStep::Ask(..)) => self.question_takes,
            Effect::Calls(..) | Effect::NodeStep(..) => EC2,
            Effect::BlockSteps(..) => self.takes.0,
            Effect::Inventory(_) => self.takes.1,
        };
        let ends = match effect {
            Effect::Calls(group, ips) => Ends::Done(Box::new(self.call(group, ips))),
            // The answer shows the state at the begin of the inventory.
            Effect::Inventory(subnet) => {
                self.inventories.push(self.now);
                let listed = Fact::InventoryDone(subnet.clone(), self.cloud.describe());
                let completed = Event::Completed(Work::Inventory(subnet), listed.into());
                Ends::Done(Box::new(completed))
            }
            effect => {
                if let Effect::BlockSteps(block, steps) = &effect {
                    let steps = steps.iter().cloned();
                    let steps = steps.map(|step| (self.now, block.clone(), step));
                    self.block_steps.extend(steps);
                }
                if let Effect::NodeStep(name, step) = &effect {
                    let step = (self.now, name.clone(), step.clone());
                    self.node_steps.push(step);
                }
                Ends::Effect(Box::new(effect))
            }
        };
        self.ends_after(takes, ends);
    }

    pub(crate) fn ends_after(&mut self, takes: Duration, ends: Ends) {
        self.begun += 1;
        self.in_flight
            .insert((self.now.plus(takes), self.begun), ends);
    }

    fn end(&mut self, ended: Ends) {
        let event = match ended {
            Ends::Done(event) => Some(*event),
            Ends::Effect(effect) => self.carry_out(*effect),
            Ends::Request(group, addresses) => {
                let done = self.cloud.execute_together(&group, &addresses);
                self.late.push((group, done.is_ok()));
                None
            }
        };
        if let Some(event) = event {
            self.engine.handle(event, self.now);
        }
        self.watches_show();
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Event> {
        let (work, completion): (Work, Completion) = match effect {
            Effect::Read(ip, Read::Instance(id)) if !self.instances_hang => {
                let state = self.cloud.state_of(&id);
                (Work::Ip(ip), Fact::InstanceRead(id, state).into())
            }
            Effect::Read(ip, read) => {
                let fact = self.kube.read(&ip, &read);
                (Work::Ip(ip), fact.into())
            }
            Effect::Write { ip, write, .. } => {
                let refused = (self.refuses)(&write);
                let outcome = refused.unwrap_or_else(|| self.kube.write(&write));
                self.written
                    .push((ip.clone(), write.clone(), outcome.clone()));
                let fact = Fact::Wrote {
                    ip: ip.clone(),
                    write,
                    outcome,
                };
                (Work::Ip(ip), fact.into())
            }
            Effect::ListIps => {
                let ips = self.kube.ips.values().cloned().collect();
                (Work::Ips, Fact::IpsRead(ips).into())
            }
            Effect::BlockSteps(block, steps) => {
                let limit = self.cloud.limit();
                let mut answers = Vec::new();
                for step in steps {
                    answers.extend(self.block_step(&block, &step));
                    answers.extend(answer(step, RANGE, limit));
                }
                (Work::Block(block), answers.into())
            }
            Effect::NodeStep(name, step) => {
                let facts = self.node_step(&name, &step);
                (Work::Node(name), facts.into())
            }
            _ => return None,
        };
        Some(Event::Completed(work, completion))
    }
}
