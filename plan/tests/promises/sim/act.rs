//! Carries out a step: a request to the world, and its answer as a fact.

use std::time::Duration;

use mooring_plan::engine::{Effect, Event, Reconciled, Work};
use mooring_plan::facts::{Fact, WriteOutcome};
use mooring_plan::names::IpName;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{BlockStep, Call, Read, Step, Write};
use mooring_world::engine;
use mooring_world::text::brief;

use super::Sim;

/// True if the reconciliation began this step.
fn begins(reconciled: &Reconciled, step: &Step) -> bool {
    let Reconciled::Begun(effect) = reconciled else {
        return false;
    };
    match (effect, step) {
        (Effect::Read(_, new), Step::Read(step)) => new == step,
        (Effect::Write { write: new, .. }, Step::Write(step)) => new == step,
        (Effect::Calls(group, ips), Step::Call(call)) => {
            *group == call.group() && matches!(&ips[..], [(_, of)] if *of == call.address())
        }
        _ => false,
    }
}

impl Sim {
    pub fn carry_out(&mut self, controller: usize, name: &IpName, step: &Step) {
        self.note(format!("[{controller}] {name}: {}", brief(step)));
        self.check_before(controller, name, step);
        self.taken.push((self.now, name.clone(), step.clone()));
        let begun = self.now;
        let engine = &mut self.controllers[controller].engine;
        let reconciled = engine.reconcile(name, begun);
        // A paused process has a pending step that it might not begin now.
        let paused = !begins(&reconciled, step);
        let fact = match step.clone() {
            Step::Read(read) => self.read(name, read),
            Step::Write(write) => {
                let lost = self.lost_answers.pop_front().unwrap_or(false);
                let outcome = if (self.refuses)(&write) {
                    WriteOutcome::Unknown
                } else if (self.forbids)(&write) {
                    self.forbidden += 1;
                    // Texts of webhooks can differ each time.
                    WriteOutcome::Refused(format!("denied by a policy, request {}", self.forbidden))
                } else {
                    self.write(&write)
                };
                let outcome = if lost { WriteOutcome::Unknown } else { outcome };
                if !matches!(outcome, WriteOutcome::Done(_)) {
                    self.note(format!("    {outcome:?}"));
                }
                Fact::Wrote {
                    ip: name.clone(),
                    write,
                    outcome,
                }
            }
            Step::Call(call) => {
                match call {
                    Call::Assign { .. } => self.counts.assigns += 1,
                    Call::Unassign { .. } => self.counts.unassigns += 1,
                }
                if paused {
                    let begins = Fact::CallBegun(name.clone(), call.clone());
                    let facts = self.controllers[controller].facts_mut();
                    facts.apply(begins, begun, begun);
                }
                let result = self.ec2.answer(&call, self.now);
                if let Err(error) = &result {
                    self.note(format!("    {:?}", error.outcome));
                }
                Fact::Called {
                    ip: name.clone(),
                    call,
                    result,
                }
            }
        };
        self.now = self.now.plus(Duration::from_millis(1));
        self.controllers[controller].receive(fact, Some(name), begun, self.now);
        self.deliver(controller);
        self.check_after(controller, name, step);
    }

    fn read(&mut self, name: &IpName, read: Read) -> Fact {
        match read {
            Read::Instance(id) => {
                self.counts.describes += 1;
                if let Some(outcome) = self.describe_fails {
                    return Fact::ReadFailed {
                        ip: name.clone(),
                        read: Read::Instance(id),
                        outcome: Some(outcome),
                    };
                }
                let state = self.ec2.state_of(&id).filter(|_| !self.ec2.elsewhere);
                Fact::InstanceRead(id, state)
            }
            read if self.reads_fail || (self.unread)(&read) => Fact::ReadFailed {
                ip: name.clone(),
                read,
                outcome: None,
            },
            read => self.kube.read(name, &read),
        }
    }

    fn write(&mut self, write: &Write) -> WriteOutcome {
        *match write {
            Write::Status { .. } => &mut self.counts.status_writes,
            Write::Gate(_) => &mut self.counts.gate_writes,
            _ => &mut self.counts.other_writes,
        } += 1;
        self.kube.write(write)
    }

    /// The steps of blocks on which IPs depend.
    pub fn block_steps(&mut self, controller: usize) {
        let names: Vec<_> = self.controllers[controller]
            .facts()
            .block_names()
            .cloned()
            .collect();
        let now = self.now;
        for block in names {
            let receiver = &mut self.controllers[controller];
            let effect = receiver.engine.reconcile_block(&block, now);
            let Some(Effect::BlockSteps(_, steps)) = effect else {
                continue;
            };
            let mut answers = Vec::new();
            for step in steps {
                if self.limits_wait && matches!(step, BlockStep::ReadLimits(_)) {
                    continue;
                }
                let failure = match (&step, self.describe_fails) {
                    (BlockStep::ReadSubnet(id), outcome) => {
                        self.counts.describes += 1;
                        let unknown = self.ec2.elsewhere.then_some(Outcome::SubnetNotFound);
                        let outcome = outcome.or(unknown);
                        outcome.map(|outcome| Fact::SubnetFailed(id.clone(), outcome))
                    }
                    _ => None,
                };
                let limit = self.ec2.limit();
                answers.extend(failure.or_else(|| engine::answer(step, self.range, limit)));
            }
            let completed = Event::Completed(Work::Block(block), answers.into());
            self.controllers[controller].event(completed, None, now);
        }
        self.inventories(controller);
    }

    fn inventories(&mut self, controller: usize) {
        let facts = self.controllers[controller].facts();
        let wanted = facts.subnets_wanted();
        if !wanted
            .iter()
            .any(|subnet| facts.inventory_due(subnet) <= self.now)
        {
            return;
        }
        // An inventory that begins in the same millisecond as an answer does not count for it, and would be repeated.
        self.now = self.now.plus(Duration::from_millis(1));
        let begun = self.now;
        let effects = self.controllers[controller]
            .engine
            .reconcile_inventories(begun);
        for effect in effects {
            let Effect::Inventory(subnet) = effect else {
                continue;
            };
            let list = self.ec2.describe(begun);
            self.now = self.now.plus(Duration::from_millis(1));
            self.counts.inventories += 1;
            if !self.ec2.elsewhere {
                self.rules
                    .inventory(controller, begun, self.ec2.shown_at(begun));
            }
            let fact = match self.describe_fails {
                Some(outcome) => Fact::InventoryFailed(subnet.clone(), outcome),
                None => Fact::InventoryDone(subnet.clone(), list),
            };
            let completed = Event::Completed(Work::Inventory(subnet.clone()), fact.into());
            let receiver = &mut self.controllers[controller];
            receiver.event(completed, None, self.now);
            let due = receiver.facts().inventory_due(&subnet);
            // An inventory that is wanted at a time while this one was in flight follows at once.
            assert!(due > begun, "an inventory is due again at once");
        }
    }
}
