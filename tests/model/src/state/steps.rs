//! The steps of a controller: events, reads, requests, answers and inventories.

use mooring_plan::facts::{Fact, Kind};
use mooring_plan::names::{IpName, NodeName};
use mooring_plan::step::{CallGroup, Read, Step};

use super::State;
use crate::fixtures::Fixtures;
use crate::rules;
use crate::world::controller::{Controller, Sent};

impl State {
    /// A controller starts its next step for an IP: a read is answered, a write or a call is sent.
    pub fn begin(&mut self, fixtures: &Fixtures, which: usize, name: &IpName) {
        let Some(step) = self.controllers[which].next_step(name).cloned() else {
            return;
        };
        if let Step::Read(read) = step {
            if let Read::ReplicaSets(..) = read {
                self.history.sets_unread.remove(&which);
            }
            let fact = match &read {
                Read::Instance(id) => Fact::InstanceRead(id.clone(), self.cloud.state_of(id)),
                read => self.kube.read(name, read),
            };
            self.controllers[which].change(|controller| controller.read(name, fact));
            return;
        }
        let Some(ip) = self.controllers[which].facts().ip(name) else {
            return;
        };
        let sent = Sent {
            ip: name.clone(),
            uid: ip.uid.clone(),
            version: ip.version,
            step,
            with: Vec::new(),
        };
        let found = rules::when_sent(self, fixtures, which, ip, &sent);
        self.record_violation(found);
        self.controllers[which].change(|controller| controller.send(sent));
    }

    /// A controller sends the next request of a group.
    pub fn begin_together(&mut self, fixtures: &Fixtures, which: usize, group: &CallGroup) {
        let sent = self.controllers[which].change(|controller| controller.send_together(group));
        for (ip, call) in sent {
            let found = rules::when_sent(self, fixtures, which, &ip, &call);
            self.record_violation(found);
        }
    }

    /// Every controller does its reads until its next step is not a read.
    pub fn read_all_wanted(&mut self, fixtures: &Fixtures) {
        for which in 0..self.controllers.len() {
            if !self.leads(which) {
                continue;
            }
            let names: Vec<IpName> = self.controllers[which]
                .facts()
                .ip_names()
                .cloned()
                .collect();
            for name in names {
                while let Some(Step::Read(_)) = self.controllers[which].next_step(&name) {
                    self.begin(fixtures, which, &name);
                }
            }
        }
    }

    /// The API server or EC2 executes the request of a controller.
    pub fn execute(&mut self, fixtures: &Fixtures, which: usize, name: &IpName) {
        let Some(request) = self.controllers[which].requests.get(name) else {
            return;
        };
        let sent = request.sent.clone();
        let outdated = self.history.outdated.contains(&which);
        let answer = self.execute_step(fixtures, &sent, outdated, Some(which));
        self.controllers[which].change(|controller| {
            if let Some(request) = controller.requests.get_mut(name) {
                request.answer = Some(answer);
            }
        });
    }

    /// The node part of a node programs the kernel for the IPs.
    pub fn program(&mut self, node: &NodeName) {
        self.waits = 0;
        self.change_kube(|kube| kube.program(node));
    }

    /// The node part of a node reports what it has programmed.
    pub fn report(&mut self, node: &NodeName) {
        self.waits = 0;
        self.change_kube(|kube| kube.report(node));
    }

    /// A controller receives the next event of a watch.
    pub fn receive(&mut self, which: usize, kind: Kind) {
        self.controllers[which].change(|controller| controller.receive(kind));
    }

    /// A controller receives the answer of its request.
    pub fn answer(&mut self, which: usize, name: &IpName) {
        self.controllers[which].change(|controller| controller.answer(name));
    }

    /// Removes late requests that cannot have an effect, because they name an old version.
    pub fn drop_obsolete_requests(&mut self) {
        let kube = &self.kube;
        self.late.retain(|late| match &late.sent.step {
            Step::Write(write) => kube.can_apply(write),
            Step::Call(_) | Step::Read(_) => true,
        });
    }

    /// A controller takes an inventory. It shows EC2 before the last `changes` changes.
    pub fn take_inventory(&mut self, which: usize, changes: usize) {
        let shown = match changes {
            0 => &self.cloud,
            changes => self
                .old_clouds
                .get(self.old_clouds.len() - changes)
                .map_or(&self.cloud, |(_, cloud)| cloud),
        };
        self.history.disturbed |= changes > 0;
        let (list, outdated) = (
            shown.describe(),
            changes > 0 && !self.history.outdated.is_empty(),
        );
        self.controllers[which].change(|controller| controller.take_inventory(list, outdated));
    }

    /// A controller receives the answer of its inventory.
    pub fn receive_inventory(&mut self, which: usize) {
        if !self.controllers[which].change(Controller::receive_inventory) {
            self.history.outdated.remove(&which);
        }
    }
}
