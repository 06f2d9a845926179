//! The passing of time.

use std::time::Duration;

use super::{CHOICE_TIMEOUT, MAX_DELAY, State};
use crate::world::clock::{self, NOW};
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

    /// All permissions return.
    pub fn permit_all(&mut self) {
        for action in self.cloud.denied().clone() {
            self.change_cloud(|cloud| cloud.permit(action));
        }
        self.permissions_changed();
    }

    /// While a permission is missing, a wait for more than a minute never ends. So tries become rarer until there are
    /// none, and whatever is written without end is a mistake. When the permission has returned, these waits do end.
    pub fn permissions_changed(&mut self) {
        let max_age = if self.cloud.denied().is_empty() {
            clock::MAX_AGE_AFTER_DENIALS
        } else {
            clock::MAX_AGE
        };
        for controller in &mut self.controllers {
            controller.change(|controller| controller.limit_ages(max_age));
        }
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
