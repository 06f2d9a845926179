//! The named configurations: each has a small world, its events, and its faults.

mod address;
mod attach;
mod interfaces;
mod leaders;
mod moves;
mod nodes;
mod programmed;
mod rollouts;
mod together;

use std::collections::BTreeSet;
use std::sync::Arc;

use mooring_plan::cloud::Reassign;
use mooring_plan::objects::Pod;

use crate::action::FaultKind;
use crate::fixtures::{WorldBuilder, address};
use crate::liveness::Liveness;
use crate::milestone::Milestone;
use crate::model::Configuration;
use crate::shared::Shared;
use crate::state::{CHOICE_TIMEOUT, History, State};
use crate::world::controller::Controller;
use crate::world::events::Event;

const EVERYTHING: [FaultKind; 6] = [
    FaultKind::Crash,
    FaultKind::Timeout,
    FaultKind::Duplicate,
    FaultKind::OldInventory,
    FaultKind::Relist,
    FaultKind::Delay,
];

/// The name of a configuration, and the function that makes it.
pub type Named = (&'static str, fn() -> Configuration);

/// All of them, in the order of a report.
pub const ALL: [Named; 35] = [
    ("attach", attach::attach),
    ("move", moves::refusing),
    ("move-reassign", moves::allowing),
    ("rollout", rollouts::rollout),
    ("rollout-full", rollouts::full),
    ("rollout-undone", rollouts::undone),
    ("rollout-lost", rollouts::lost),
    ("rollout-broken", rollouts::broken),
    ("rollout-rival", rollouts::rival),
    ("rollout-denied", rollouts::denied),
    ("rollout-assign-denied", rollouts::assign_denied),
    ("edit", address::edit),
    ("delete", address::delete),
    ("delete-early", address::delete_early),
    ("edit-early", address::edit_early),
    ("two-ips", address::two_ips),
    ("allocate", address::allocate),
    ("node-death", nodes::death),
    ("node-gone", nodes::gone),
    ("node-denied", nodes::denied),
    ("eni-detached", interfaces::detached),
    ("eni-rollout", interfaces::rolled_out),
    ("eni-deleted", interfaces::deleted),
    ("two-leaders", leaders::two_leaders),
    ("two-lagging", leaders::two_lagging),
    ("two-attach", leaders::two_attach),
    ("two-delete", leaders::two_delete),
    ("lead-back", leaders::back),
    ("lead-back-again", leaders::back_again),
    ("lead-back-early", leaders::back_early),
    ("together-attach", together::attach),
    ("together-detach", together::detach),
    ("programmed-move", programmed::moved),
    ("programmed-edit", programmed::edited),
    ("programmed-two", programmed::two_leaders),
];

/// The names of the configurations of `--quick`.
pub const QUICK: [&str; 3] = ["attach", "move", "edit"];

/// Two nodes, one IP, and a pod on the first node that asks for the IP.
fn held(reassign: Reassign) -> WorldBuilder {
    WorldBuilder::new()
        .node("a")
        .node("b")
        .ip("partner", address(10), reassign)
        .pod("web", "partner", "a", None)
}

/// One node and an IP, and a pod for it that is not created yet.
fn unheld() -> (WorldBuilder, Pod) {
    let mut world = WorldBuilder::new()
        .node("a")
        .ip("partner", address(10), Reassign::Refuse);
    let pod = world.make_pod("web", "partner", "a", None);
    (world, pod)
}

struct ConfigurationBuilder {
    name: &'static str,
    world: WorldBuilder,
    tracks: Vec<Vec<Event>>,
    milestones: Vec<Milestone>,
    controllers: usize,
    /// Is there one leader at a time?
    one_leads: bool,
    /// The maximum number of pending events of one watch.
    max_lag: usize,
    /// The maximum number of times that time passes without a change.
    waits: u8,
    /// Is an inventory answered at once?
    prompt: bool,
    fault_kinds: Vec<FaultKind>,
    faults: u8,
}

impl ConfigurationBuilder {
    fn new(name: &'static str, world: WorldBuilder) -> Self {
        Self {
            name,
            world,
            tracks: Vec::new(),
            milestones: Vec::new(),
            controllers: 1,
            one_leads: false,
            max_lag: 2,
            waits: 2,
            prompt: false,
            fault_kinds: Vec::new(),
            faults: 0,
        }
    }

    /// Two processes that both lead, with this maximum number of pending events of each watch.
    fn two_leaders(mut self, max_lag: usize) -> Self {
        self = self.prompt();
        self.controllers = 2;
        self.max_lag = max_lag;
        self
    }

    /// Watches have no delay, and reads and inventories are answered at once.
    fn prompt(mut self) -> Self {
        self.max_lag = 0;
        self.waits = 1;
        self.prompt = true;
        self
    }

    /// Two processes with one leader at a time: the first leads, then the second, then the first again.
    fn leadership_moves_and_returns(mut self, max_lag: usize) -> Self {
        self = self.two_leaders(max_lag);
        self.one_leads = true;
        self.track([Event::LeadChanges, Event::LeadChanges])
    }

    fn track(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        self.tracks.push(events.into_iter().collect());
        self
    }

    /// The faults that can happen, and their maximum number on one path.
    fn fault_kinds(mut self, faults: u8, fault_kinds: impl IntoIterator<Item = FaultKind>) -> Self {
        self.faults = faults;
        self.fault_kinds = fault_kinds.into_iter().collect();
        self
    }

    fn milestones(mut self, milestones: impl IntoIterator<Item = Milestone>) -> Self {
        self.milestones.extend(milestones);
        self
    }

    /// Starts in the world as it is.
    fn unprepared(self) -> Configuration {
        self.begin(|_, state| state)
    }

    /// Starts in the state where the world comes to rest without any event.
    fn at_rest(self) -> Configuration {
        self.begin(
            |world, state| match Liveness::new().final_state(&world.fixtures, &state) {
                Ok(last) => last,
                Err(why) => panic!("{why}"),
            },
        )
    }

    fn begin(self, from: impl FnOnce(&WorldBuilder, State) -> State) -> Configuration {
        let manual = self.world.cloud.assigned();
        let started = |which: usize| {
            let leads = which == 0 || !self.one_leads;
            Shared::new(Controller::started(
                &self.world.kube,
                self.world.cloud.limit(),
                self.max_lag,
                leads,
            ))
        };
        let state = State {
            kube: Shared::new(self.world.kube.clone()),
            cloud: Shared::new(self.world.cloud.clone()),
            old_clouds: Vec::new(),
            controllers: (0..self.controllers).map(started).collect(),
            leader: self.one_leads.then_some(0),
            late: BTreeSet::new(),
            at: Vec::new(),
            faults: 0,
            waits: 0,
            history: History {
                outdated: BTreeSet::new(),
                sets_unread: BTreeSet::new(),
                manual,
                detached: BTreeSet::new(),
                missing_for: CHOICE_TIMEOUT,
                disturbed: self.controllers > 1 && !self.one_leads,
            },
            milestone: None,
            broken: None,
        };
        let mut initial = from(&self.world, state);
        initial.faults = self.faults;
        initial.at = vec![0; self.tracks.len()];
        Configuration {
            name: self.name,
            fixtures: self.world.fixtures,
            initial,
            tracks: self.tracks,
            fault_kinds: self.fault_kinds,
            milestones: self.milestones,
            waits: self.waits,
            prompt: self.prompt,
            liveness: Arc::new(Liveness::new()),
        }
    }
}
