//! A small deterministic world with an API server, EC2 and one clock, and any number of controllers that see it through
//! watches, reads and inventories. The safety rules are asserted after every step.

mod act;
mod affected;
mod changes;
mod ec2;
mod expect;
mod losing;
mod node_parts;
mod nodes;
mod pods;
mod rules;
mod run;
mod steps;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mooring_plan::engine::{Engine, Pacing};
use mooring_plan::facts::{Affected, Fact, Facts, Kind, Settings};
use mooring_plan::names::{IpName, NodeName};
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{NodeStep, Read, Step, Write};
use mooring_plan::time::Instant;
use mooring_world::engine::leadership;
use mooring_world::kube::Kube;

pub use ec2::{Ec2, Fault};
pub use mooring_world::objects::{SUBNET, address, address_after, instance_of, interface_of, key};
pub use rules::Rules;
pub use steps::status_write;
use watch::Shown;

/// The inventory interval of the controllers.
pub const INTERVAL: Duration = Duration::from_mins(1);

/// One process: its engine, and what its watches have shown.
#[derive(Clone)]
pub struct Controller {
    pub engine: Engine,
    shown: Shown,
    /// IPs that needed no step, and when they are due again.
    idle: BTreeMap<IpName, Option<Instant>>,
    /// Kinds whose watch shows nothing now.
    pub stuck: BTreeSet<Kind>,
}

/// Numbers of requests, as the API server and EC2 count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub assigns: u32,
    pub unassigns: u32,
    pub status_writes: u32,
    pub gate_writes: u32,
    /// Writes of finalizers, annotations, labels and reservations.
    pub other_writes: u32,
    pub inventories: u32,
    /// Number of Describes that are not inventories.
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
    pub now: Instant,
    pub kube: Kube,
    pub ec2: Ec2,
    pub controllers: Vec<Controller>,
    pub counts: Counts,
    pub trace: Vec<String>,
    /// The failure of every Describe; None: it succeeds.
    pub describe_fails: Option<Outcome>,
    /// True if EC2 does not answer requests for limits.
    pub limits_wait: bool,
    /// The failure of `DescribeInstanceStatus`; None: it succeeds.
    pub checks_fail: Option<Outcome>,
    /// True if all reads of the API server fail.
    pub reads_fail: bool,
    /// The reads of the API server that fail.
    pub unread: fn(&Read) -> bool,
    /// The writes that the API server does not answer.
    pub refuses: fn(&Write) -> bool,
    /// The writes that the API server refuses with a text.
    pub forbids: fn(&Write) -> bool,
    /// True if the API server refuses the writes of taints with a text.
    pub forbids_taints: bool,
    /// The number of writes that were refused with a text.
    pub forbidden: u32,
    /// Every step that was taken, and when.
    pub taken: Vec<(Instant, IpName, Step)>,
    /// Every step of a node that was taken, and when.
    pub node_taken: Vec<(Instant, NodeName, NodeStep)>,
    /// For each of the next writes: true if its answer is lost.
    pub lost_answers: std::collections::VecDeque<bool>,
    pub rules: Rules,
    /// The controller that does steps while time passes; None: all controllers.
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
        engine.handle(leadership(true), Instant::START);
        Self {
            engine,
            shown: Shown::default(),
            idle: BTreeMap::new(),
            stuck: BTreeSet::new(),
        }
    }

    pub fn facts(&self) -> &Facts {
        self.engine.facts()
    }

    /// The names that are decided: of all IPs, and of IPs that are gone and that pods ask for.
    pub fn names(&self) -> Vec<IpName> {
        let names = self.facts().ip_names();
        names
            .chain(self.facts().names_without_ip())
            .cloned()
            .collect()
    }

    pub fn facts_mut(&mut self) -> &mut Facts {
        self.engine.facts_mut()
    }

    fn lead(&mut self, leads: bool, now: Instant) {
        self.engine.handle(leadership(leads), now);
    }
}

impl Sim {
    /// A world with one block, 203.0.113.0/24 in its subnet, and nothing else.
    pub fn new() -> Self {
        let mut sim = Self {
            now: Instant::from_secs(1000),
            kube: Kube::with_one_counter(),
            ec2: Ec2::with_limit(10),
            controllers: vec![Controller::new()],
            counts: Counts::default(),
            trace: Vec::new(),
            describe_fails: None,
            limits_wait: false,
            checks_fail: None,
            reads_fail: false,
            unread: |_| false,
            refuses: |_| false,
            forbids: |_| false,
            forbids_taints: false,
            forbidden: 0,
            taken: Vec::new(),
            node_taken: Vec::new(),
            lost_answers: std::collections::VecDeque::default(),
            rules: Rules::default(),
            leader: None,
            range: "203.0.113.0/24",
        };
        sim.block("block", "203.0.113.0/24");
        sim
    }

    /// Adds another process, without any facts.
    pub fn second_controller(&mut self) {
        self.controllers.push(Controller::new());
    }

    /// Restarts the process: it loses all its facts.
    pub fn restart(&mut self, controller: usize) {
        self.note("restart");
        self.rules.restarted(controller);
        self.controllers[controller] = Controller::new();
    }

    /// From here on only this controller leads and does steps while time passes.
    pub fn lead(&mut self, controller: usize) {
        self.note(format!("[{controller}] leads"));
        self.leader = Some(controller);
        self.deliver(controller);
        self.rules.restarted(controller);
        let now = self.now;
        self.controllers[controller].lead(false, now);
        self.controllers[controller].lead(true, now);
        self.controllers[controller].idle.clear();
    }

    pub fn note(&mut self, what: impl Into<String>) {
        self.trace
            .push(format!("{:>8} {}", self.now.as_millis(), what.into()));
    }

    /// Applies the pending watch events of a controller.
    pub fn deliver(&mut self, controller: usize) {
        for node in self.kube.nodes_with_part() {
            self.kube.program(&node);
            self.kube.report(&node);
        }
        let receiver = &mut self.controllers[controller];
        let kinds: BTreeSet<Kind> = Kind::ALL
            .into_iter()
            .filter(|kind| !receiver.stuck.contains(kind))
            .collect();
        for fact in receiver.shown.events(&self.kube, &kinds, false) {
            receiver.receive(fact, None, self.now, self.now);
        }
    }

    /// Gives the first controller a fact that is begun and answered now. The IPs that it affects are not followed.
    pub fn apply(&mut self, fact: Fact) -> Affected {
        let now = self.now;
        self.controllers[0].facts_mut().apply(fact, now, now)
    }

    /// Restarts the watches of a controller: deletions in between have no event.
    pub fn relist(&mut self, controller: usize) {
        self.note("relist");
        let receiver = &mut self.controllers[controller];
        let kinds = Kind::ALL.into_iter().collect();
        for fact in receiver.shown.events(&self.kube, &kinds, true) {
            receiver.receive(fact, None, self.now, self.now);
        }
    }

    /// The last steps, for the message of a failed test.
    pub fn story(&self) -> String {
        let lines: Vec<&str> = self
            .trace
            .iter()
            .map(String::as_str)
            .filter(|line| !line.contains("Read(ReplicaSets"))
            .collect();
        let from = lines.len().saturating_sub(80);
        let mut story = lines[from..].join("\n");
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
