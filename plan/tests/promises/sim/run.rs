//! Runs controllers while time passes.

use std::time::Duration;

use mooring_plan::facts::Fact;
use mooring_plan::names::IpName;
use mooring_plan::step::{Decision, Step};
use mooring_plan::time::Instant;

use super::{INTERVAL, Sim};

/// After this time without a write or call, the world is at rest.
const QUIET: Duration = INTERVAL.saturating_mul(5);

impl Sim {
    /// Does one step of a controller. `Err`: there is none; when to try again.
    pub fn step(&mut self, controller: usize) -> Result<Step, Option<Instant>> {
        self.deliver(controller);
        self.block_steps(controller);
        let nodes_again = self.node_steps(controller);
        let names = self.controllers[controller].names();
        let mut again: Option<Instant> = nodes_again;
        for name in names {
            let asked = &mut self.controllers[controller];
            let decision = asked.idle_decision(&name, self.now);
            let decision = decision.unwrap_or_else(|| asked.facts().decide(&name, self.now));
            asked.decided(&name, &decision);
            let Decision {
                step,
                again: at,
                notices,
            } = decision;
            self.rules.record(&notices);
            if let Some(at) = at {
                assert!(
                    at > self.now,
                    "{name}: again at {at:?}, which is not ahead\n{}",
                    self.story()
                );
                again = Some(again.map_or(at, |again| again.min(at)));
            }
            if let Some(step) = step {
                self.carry_out(controller, &name, &step);
                return Ok(step);
            }
        }
        Err(again)
    }

    /// When the next inventory of a controller is due.
    fn inventory_due(&self, controller: usize) -> Option<Instant> {
        let facts = self.controllers[controller].facts();
        let subnets = facts.subnets_wanted();
        subnets
            .iter()
            .map(|subnet| facts.inventory_due(subnet))
            .min()
    }

    /// All controllers do steps in turn until `until`; true if there was a write or a call.
    pub fn run_until(&mut self, until: Instant) -> bool {
        let before = self.counts;
        let enough = 300 + 20 * self.kube.ips.len();
        let mut busy = 0;
        while self.now < until {
            let mut next: Option<Instant> = None;
            let mut idle = true;
            let leaders = match self.leader {
                Some(leader) => leader..leader + 1,
                None => 0..self.controllers.len(),
            };
            for controller in leaders {
                match self.step(controller) {
                    Ok(_) => idle = false,
                    Err(again) => {
                        let due = self.inventory_due(controller);
                        next = [next, again, due].into_iter().flatten().min();
                    }
                }
            }
            busy += 1;
            if idle {
                busy = 0;
                let at = next.unwrap_or(until).min(until);
                self.now = at.max(self.now.plus(Duration::from_millis(1)));
            }
            assert!(busy < enough, "steps without end\n{}", self.story());
        }
        let after = self.counts;
        (after.calls(), after.writes()) != (before.calls(), before.writes())
    }

    /// Time passes.
    pub fn wait(&mut self, length: Duration) {
        self.run_until(self.now.plus(length));
    }

    /// Runs until there was no write or call for five inventory intervals.
    pub fn settle(&mut self) {
        for _ in 0..60 {
            if !self.run_until(self.now.plus(QUIET)) {
                return;
            }
        }
        panic!("it never comes to rest\n{}", self.story());
    }

    /// Runs until a step for which `done` is true was done, and returns that step.
    pub fn step_until(&mut self, mut done: impl FnMut(&Step) -> bool) -> Step {
        for _ in 0..10_000 {
            match self.step(0) {
                Ok(step) if done(&step) => return step,
                Ok(_) => {}
                Err(again) => {
                    let next = [again, self.inventory_due(0)].into_iter().flatten().min();
                    let next = next.unwrap_or(self.now.plus(Duration::from_secs(1)));
                    self.now = next.max(self.now.plus(Duration::from_millis(1)));
                }
            }
        }
        panic!("it was never done\n{}", self.story());
    }

    /// A request is sent, the watch shows what `change` does, and then the request is answered with the state before. The
    /// watch will not show the change again.
    pub fn answered_after(&mut self, answer: Fact, change: impl FnOnce(&mut Self)) {
        let begun = self.now;
        change(self);
        self.deliver(0);
        let now = begun.plus(Duration::from_millis(1));
        self.controllers[0].receive(answer, None, begun, now);
        self.now = now;
    }

    /// Runs this number of writes and calls, and the reads between them; false if it came to rest before.
    pub fn changes(&mut self, count: usize) -> bool {
        let quiet = self.now.plus(QUIET);
        let mut done = 0;
        while done < count {
            match self.step(0) {
                Ok(Step::Read(_)) => {}
                Ok(_) => done += 1,
                Err(again) => {
                    let next = [again, self.inventory_due(0)].into_iter().flatten().min();
                    self.now = next
                        .unwrap_or(quiet)
                        .max(self.now.plus(Duration::from_millis(1)));
                    if self.now >= quiet {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The next step of a controller, without executing it: the controller is paused there.
    pub fn in_hand(&mut self, controller: usize) -> Option<(IpName, Step)> {
        self.deliver(controller);
        self.block_steps(controller);
        let facts = self.controllers[controller].facts();
        let mut names = self.controllers[controller].names().into_iter();
        names.find_map(|name| {
            let step = facts.decide(&name, self.now).step?;
            Some((name, step))
        })
    }
}
