//! A small world to decide in: an API server, EC2 and one clock, all of it deterministic, and any
//! number of controllers that see it through watches, reads and inventories. After every step the
//! rules of safety are asserted.

mod act;
mod changes;
mod ec2;
mod expect;
mod losing;
mod rules;
mod touched;
mod watch;

use std::collections::{BTreeMap, BTreeSet};

use mooring_plan::engine::{Engine, Event, Pacing};
use mooring_plan::facts::{Facts, Kind, Settings};
use mooring_plan::lease::Leadership;
use mooring_plan::names::{IpName, Millis};
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Decision, Step, Write};
use mooring_world::kube::Kube;

pub use ec2::{Ec2, Fault};
pub use mooring_world::objects::{SUBNET, address, instance_of, interface_of, key};
pub use rules::Rules;
use watch::Shown;

/// How often the world's controllers list interfaces.
pub const INTERVAL: Millis = Millis::seconds(60);

/// So long without a write or call, and the world is at rest.
const QUIET: Millis = Millis(INTERVAL.0 * 5);

/// One process: what it was told, and what its watches showed it.
#[derive(Clone)]
pub struct Controller {
    pub engine: Engine,
    shown: Shown,
    /// IPs for which nothing was to be done, and when they are due again.
    rests: BTreeMap<IpName, Option<Millis>>,
    /// Kinds whose watch says nothing just now.
    pub stuck: BTreeSet<Kind>,
}

/// What was done, as the API server and EC2 count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub assigns: u32,
    pub unassigns: u32,
    pub status_writes: u32,
    pub gate_writes: u32,
    /// Finalizers, annotations, labels, reservations.
    pub other_writes: u32,
    pub inventories: u32,
    /// Other Describes than inventories.
    pub describes: u32,
}

impl Counts {
    pub fn calls(self) -> u32 {
        self.assigns + self.unassigns
    }

    pub fn writes(self) -> u32 {
        self.status_writes + self.gate_writes + self.other_writes
    }
}

/// The world.
#[derive(Clone)]
pub struct Sim {
    pub now: Millis,
    pub kube: Kube,
    pub ec2: Ec2,
    pub controllers: Vec<Controller>,
    pub counts: Counts,
    pub trace: Vec<String>,
    /// What EC2 answers to every Describe, if not what is asked for.
    pub describe_fails: Option<Outcome>,
    /// Does the API server answer no read?
    pub reads_fail: bool,
    /// The writes that the API server does not take.
    pub refuses: fn(&Write) -> bool,
    /// Every step that was taken, and when.
    pub taken: Vec<(Millis, IpName, Step)>,
    /// Whether a write's answer is lost, for each of the next writes.
    pub lost_answers: std::collections::VecDeque<bool>,
    pub rules: Rules,
    /// The one that takes steps while time passes; None: all of them.
    pub leader: Option<usize>,
    /// The subnet's range.
    pub range: &'static str,
}

impl Controller {
    fn new() -> Self {
        let settings = Settings {
            inventory_interval: INTERVAL,
        };
        let mut engine = Engine::new(settings, Pacing::Off);
        engine.handle(Event::Leadership(Leadership::ALWAYS), Millis(0));
        Self {
            engine,
            shown: Shown::default(),
            rests: BTreeMap::new(),
            stuck: BTreeSet::new(),
        }
    }

    pub fn facts(&self) -> &Facts {
        self.engine.facts()
    }

    pub fn facts_mut(&mut self) -> &mut Facts {
        self.engine.facts_mut()
    }

    fn lead(&mut self, leads: bool, now: Millis) {
        let leadership = if leads {
            Leadership::ALWAYS
        } else {
            Leadership::default()
        };
        self.engine.handle(Event::Leadership(leadership), now);
    }
}

impl Sim {
    /// A world with one block, 203.0.113.0/24 in its subnet, and nothing else.
    pub fn new() -> Self {
        let mut sim = Self {
            now: Millis::seconds(1000),
            kube: Kube::with_one_counter(),
            ec2: Ec2::with_limit(10),
            controllers: vec![Controller::new()],
            counts: Counts::default(),
            trace: Vec::new(),
            describe_fails: None,
            reads_fail: false,
            refuses: |_| false,
            taken: Vec::new(),
            lost_answers: std::collections::VecDeque::default(),
            rules: Rules::default(),
            leader: None,
            range: "203.0.113.0/24",
        };
        sim.block("block", "203.0.113.0/24");
        sim
    }

    /// Another process of the same program, which knows nothing of the first.
    pub fn second_controller(&mut self) {
        self.controllers.push(Controller::new());
    }

    /// The process ends and starts again: whatever it remembered is lost.
    pub fn restart(&mut self, controller: usize) {
        self.note("restart");
        self.rules.restarted(controller);
        self.controllers[controller] = Controller::new();
    }

    /// From here on this one leads, and no other takes steps while time passes.
    pub fn lead(&mut self, controller: usize) {
        self.note(format!("[{controller}] leads"));
        self.leader = Some(controller);
        self.tell(controller);
        self.rules.restarted(controller);
        let now = self.now;
        self.controllers[controller].lead(false, now);
        self.controllers[controller].lead(true, now);
        self.controllers[controller].rests.clear();
    }

    pub fn note(&mut self, what: impl Into<String>) {
        self.trace
            .push(format!("{:>8} {}", self.now.0, what.into()));
    }

    /// What the watches have for a controller.
    pub fn tell(&mut self, controller: usize) {
        let told = &mut self.controllers[controller];
        let kinds: BTreeSet<Kind> = Kind::ALL
            .into_iter()
            .filter(|kind| !told.stuck.contains(kind))
            .collect();
        for fact in told.shown.events(&self.kube, &kinds, false) {
            told.receive(fact, None, self.now, self.now);
        }
    }

    /// Its watches are begun anew: what went in between is not shown going.
    pub fn relist(&mut self, controller: usize) {
        self.note("relist");
        let told = &mut self.controllers[controller];
        let kinds = Kind::ALL.into_iter().collect();
        for fact in told.shown.events(&self.kube, &kinds, true) {
            told.receive(fact, None, self.now, self.now);
        }
    }

    /// One step of a controller, if it has one; else when it wants to be asked again.
    pub fn step(&mut self, controller: usize) -> Result<Step, Option<Millis>> {
        self.tell(controller);
        self.block_steps(controller);
        let names: Vec<IpName> = self.controllers[controller]
            .facts()
            .ip_names()
            .cloned()
            .collect();
        let mut again: Option<Millis> = None;
        for name in names {
            let asked = &mut self.controllers[controller];
            let decision = asked.resting_decision(&name, self.now);
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

    /// When a controller's next inventory is due.
    fn inventory_due(&self, controller: usize) -> Option<Millis> {
        let facts = self.controllers[controller].facts();
        let subnets = facts.subnets_wanted();
        subnets
            .iter()
            .map(|subnet| facts.inventory_due(subnet))
            .min()
    }

    /// Every controller takes steps in turn until `until`; true if anything was written or called.
    pub fn run_until(&mut self, until: Millis) -> bool {
        let before = self.counts;
        let enough = 300 + 20 * self.kube.ips.len();
        let mut busy = 0;
        while self.now < until {
            let mut next: Option<Millis> = None;
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
                self.now = at.max(self.now.plus(Millis(1)));
            }
            assert!(busy < enough, "steps without end\n{}", self.story());
        }
        let after = self.counts;
        (after.calls(), after.writes()) != (before.calls(), before.writes())
    }

    /// Time passes.
    pub fn wait(&mut self, length: Millis) {
        self.run_until(self.now.plus(length));
    }

    /// Until nothing has been written or called for five inventory periods.
    pub fn settle(&mut self) {
        for _ in 0..60 {
            if !self.run_until(self.now.plus(QUIET)) {
                return;
            }
        }
        panic!("it never comes to rest\n{}", self.story());
    }

    /// Steps until this has been done, which is returned; the world may be changed in between.
    pub fn step_until(&mut self, mut done: impl FnMut(&Step) -> bool) -> Step {
        for _ in 0..10_000 {
            match self.step(0) {
                Ok(step) if done(&step) => return step,
                Ok(_) => {}
                Err(again) => {
                    let next = [again, self.inventory_due(0)].into_iter().flatten().min();
                    let next = next.unwrap_or(self.now.plus(Millis::seconds(1)));
                    self.now = next.max(self.now.plus(Millis(1)));
                }
            }
        }
        panic!("it was never done\n{}", self.story());
    }

    /// So many writes and calls, and the reads between them; false if it came to rest before.
    pub fn changes(&mut self, count: usize) -> bool {
        let quiet = self.now.plus(QUIET);
        let mut done = 0;
        while done < count {
            match self.step(0) {
                Ok(Step::Read(_)) => {}
                Ok(_) => done += 1,
                Err(again) => {
                    let next = [again, self.inventory_due(0)].into_iter().flatten().min();
                    self.now = next.unwrap_or(quiet).max(self.now.plus(Millis(1)));
                    if self.now >= quiet {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// What a controller would do next, in its hands and not done: it is paused there.
    pub fn in_hand(&mut self, controller: usize) -> Option<(IpName, Step)> {
        self.tell(controller);
        self.block_steps(controller);
        let facts = self.controllers[controller].facts();
        facts.ip_names().find_map(|name| {
            let step = facts.decide(name, self.now).step?;
            Some((name.clone(), step))
        })
    }

    /// The last steps, for a test that fails.
    pub fn story(&self) -> String {
        let told: Vec<&str> = self
            .trace
            .iter()
            .map(String::as_str)
            .filter(|line| !line.contains("Read(ReplicaSets"))
            .collect();
        let from = told.len().saturating_sub(80);
        let mut story = told[from..].join("\n");
        for ip in self.kube.ips.values() {
            story.push_str(&format!("\n{ip:#?}"));
        }
        for pod in self.kube.pods.values() {
            story.push_str(&format!("\n{pod:?}"));
        }
        story.push_str(&format!("\nassigned: {:?}", self.ec2.assigned()));
        story
    }
}
