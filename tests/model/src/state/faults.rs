//! The effects of faults on requests and processes.

use std::time::Duration;

use mooring_plan::facts::Fact;
use mooring_plan::names::IpName;
use mooring_plan::step::Step;

use super::{Late, State, unknown};
use crate::milestone::Milestone;
use crate::shared::Shared;
use crate::world::controller::Controller;

impl State {
    /// The sender stops waiting: the result of the request is unknown. If it was not executed, it can be executed
    /// late.
    pub fn time_out(&mut self, which: usize, name: &IpName) {
        let outdated = self.history.outdated.contains(&which);
        let Some(request) = self.controllers[which].requests.get(name) else {
            return;
        };
        let Some(fact) = unknown(&request.sent) else {
            return;
        };
        let request = self.controllers[which].change(|controller| controller.time_out(name, fact));
        if let Some(request) = request.filter(|request| request.answer.is_none()) {
            self.late.insert(Late {
                sent: request.sent,
                age: Duration::ZERO,
                outdated,
            });
        }
    }

    /// A request that was executed will be executed a second time.
    pub fn duplicate(&mut self, which: usize, name: &IpName) {
        let outdated = self.history.outdated.contains(&which);
        if let Some(request) = self.controllers[which].requests.get(name) {
            self.late.insert(Late {
                sent: request.sent.clone(),
                age: Duration::ZERO,
                outdated,
            });
        }
    }

    /// A process ends, and a new one starts without any memory. The requests of the old one can be executed late.
    pub fn crash(&mut self, which: usize) {
        let outdated = self.history.outdated.contains(&which);
        let claimed = self.kube.ips.values().any(|ip| {
            ip.status.claim.as_ref().is_some_and(|claim| {
                !claim.recorded()
                    && claim.target().is_some_and(|target| {
                        let on = ip
                            .status
                            .address
                            .and_then(|address| self.cloud.holder_of(address));
                        on.as_ref() != Some(&target.place.interface)
                    })
            })
        });
        let requests = self.controllers[which].requests.clone();
        let assigning = requests
            .values()
            .any(|request| matches!(request.sent.step, Step::Call(_)));
        if claimed && !assigning {
            self.milestone = Some(Milestone::CrashAfterClaim);
        }
        let under_way = requests
            .into_values()
            .filter(|request| request.answer.is_none());
        self.late.extend(under_way.map(|request| Late {
            sent: request.sent,
            age: Duration::ZERO,
            outdated,
        }));
        let max_lag = self.controllers[which].max_lag;
        let started =
            Controller::started(&self.kube, self.cloud.limit(), max_lag, self.leads(which));
        self.controllers[which] = Shared::new(started);
        self.history.sets_unread.remove(&which);
        self.history.outdated.remove(&which);
    }

    /// The watches of a process start again with a list: deletions in between were not seen.
    pub fn relist(&mut self, which: usize) {
        self.controllers[which].change(|controller| {
            for fact in controller.pending.values_mut().flatten() {
                if let Fact::PodDeleted(uid) = fact {
                    *fact = Fact::PodVanished(uid.clone());
                }
            }
            controller.receive_all();
        });
    }
}
