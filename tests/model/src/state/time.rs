//! The passing of time.

use std::time::Duration;

use super::{CHOICE_TIMEOUT, MAX_DELAY, State};
use crate::world::clock::NOW;
use crate::world::controller::Controller;

impl State {
    /// Has no controller a step, an event or an answer to process, so that only time can pass?
    pub fn at_rest(&self) -> bool {
        let idle = |controller: &Controller| {
            let mut ips = controller.facts().ip_names();
            !controller.state.inventory_due && ips.all(|ip| controller.next_step(ip).is_none())
        };
        self.controllers
            .iter()
            .enumerate()
            .all(|(which, controller)| {
                controller.pending.is_empty()
                    && controller.requests.is_empty()
                    && controller.inventory().is_none()
                    && (!self.leads(which) || idle(controller))
            })
    }

    /// Time passes. Requests with more than the longest delay are lost.
    pub fn pass(&mut self, length: Duration) {
        for controller in &mut self.controllers {
            controller.change(|controller| controller.pass(length));
        }
        for (age, _) in &mut self.old_clouds {
            *age += length;
        }
        self.old_clouds.retain(|(age, _)| *age < MAX_DELAY);
        let late = std::mem::take(&mut self.late);
        let older = late.into_iter().map(|mut late| {
            late.age += length;
            late
        });
        self.late = older.filter(|late| late.age < MAX_DELAY).collect();
        let missing = self.history.missing_for + length.as_secs();
        self.history.missing_for = missing.min(CHOICE_TIMEOUT);
    }

    /// Time passes until a controller has a step.
    pub fn pass_until_due(&mut self) {
        for _ in 0..200 {
            let controllers = self.controllers.iter().enumerate();
            let next = controllers
                .filter(|(which, _)| self.leads(*which))
                .filter_map(|(_, controller)| controller.state.deadline)
                .min();
            let Some(next) = next else { return };
            self.pass(next.since(NOW).max(Duration::from_secs(1)));
            if !self.at_rest() {
                return;
            }
        }
    }
}
