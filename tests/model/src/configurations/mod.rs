//! The named configurations: each a small world, what may happen in it, and which faults.

mod address;
mod attach;
mod leaders;
mod moves;
mod nodes;
mod rollouts;

use std::collections::BTreeSet;
use std::sync::Arc;

use mooring_plan::cloud::Reassign;

use crate::action::Befalls;
use crate::calm::Calm;
use crate::cast::{Scene, address};
use crate::mark::Mark;
use crate::model::Configuration;
use crate::shared::Shared;
use crate::state::{PATIENCE, PastOf, State};
use crate::world::controller::Controller;
use crate::world::events::Event;

const EVERYTHING: [Befalls; 6] = [
    Befalls::Crash,
    Befalls::TimeOut,
    Befalls::Twice,
    Befalls::LookBack,
    Befalls::Relist,
    Befalls::Slow,
];

/// A configuration's name, and how it is made.
pub type Named = (&'static str, fn() -> Configuration);

/// All of them, in the order of a report.
pub const ALL: [Named; 21] = [
    ("attach", attach::attach),
    ("move", moves::refusing),
    ("move-reassign", moves::allowing),
    ("rollout", rollouts::rollout),
    ("rollout-full", rollouts::full),
    ("rollout-undone", rollouts::undone),
    ("rollout-lost", rollouts::lost),
    ("rollout-broken", rollouts::broken),
    ("rollout-rival", rollouts::rival),
    ("edit", address::edit),
    ("delete", address::delete),
    ("delete-early", address::delete_early),
    ("edit-early", address::edit_early),
    ("two-ips", address::two_ips),
    ("node-death", nodes::death),
    ("node-gone", nodes::gone),
    ("two-leaders", leaders::two_leaders),
    ("two-lagging", leaders::two_lagging),
    ("two-attach", leaders::two_attach),
    ("lead-back", leaders::back),
    ("lead-back-early", leaders::back_early),
];

/// Names of those that are quick together.
pub const QUICK: [&str; 3] = ["attach", "move", "edit"];

/// Two nodes, and a pod on the first that has asked for the one IP.
fn held(reassign: Reassign) -> Scene {
    Scene::new()
        .node("a")
        .node("b")
        .ip("partner", address(10), reassign)
        .pod("web", "partner", "a", None)
}

struct Plot {
    name: &'static str,
    scene: Scene,
    tracks: Vec<Vec<Event>>,
    reaches: Vec<Mark>,
    controllers: usize,
    /// Does one of them lead at a time?
    one_leads: bool,
    /// A watch is at most so many events behind.
    max_lag: usize,
    /// Where nothing happens, time passes so often.
    waits: u8,
    /// Is an inventory answered at once?
    prompt: bool,
    befalls: Vec<Befalls>,
    faults: u8,
}

impl Plot {
    fn new(name: &'static str, scene: Scene) -> Self {
        Self {
            name,
            scene,
            tracks: Vec::new(),
            reaches: Vec::new(),
            controllers: 1,
            one_leads: false,
            max_lag: 2,
            waits: 2,
            prompt: false,
            befalls: Vec::new(),
            faults: 0,
        }
    }

    /// Two processes that both lead, whose watches are at most so many events behind.
    fn two_leaders(mut self, max_lag: usize) -> Self {
        self.controllers = 2;
        self.max_lag = max_lag;
        self.waits = 1;
        self.prompt = true;
        self
    }

    /// Two processes of which one leads at a time: it begins with one, comes to the other, and goes back.
    fn lead_goes_and_comes_back(mut self, max_lag: usize) -> Self {
        self = self.two_leaders(max_lag);
        self.one_leads = true;
        self.track([Event::LeadChanges, Event::LeadChanges])
    }

    fn track(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        self.tracks.push(events.into_iter().collect());
        self
    }

    /// The faults that may befall, and how many of them on one path.
    fn befalls(mut self, faults: u8, befalls: impl IntoIterator<Item = Befalls>) -> Self {
        self.faults = faults;
        self.befalls = befalls.into_iter().collect();
        self
    }

    fn reaches(mut self, marks: impl IntoIterator<Item = Mark>) -> Self {
        self.reaches.extend(marks);
        self
    }

    /// From the scene as it is.
    fn unprepared(self) -> Configuration {
        self.begin(|_, state| state)
    }

    /// From where the scene comes to rest when nothing happens: what is set up is set up.
    fn at_rest(self) -> Configuration {
        self.begin(|scene, state| match Calm::new().rest(&scene.cast, &state) {
            Ok(rest) => rest,
            Err(why) => panic!("{}", scene.cast.readable(&why)),
        })
    }

    fn begin(self, from: impl FnOnce(&Scene, State) -> State) -> Configuration {
        let by_hand = self.scene.cloud.assigned();
        let started = |which: usize| {
            let leads = which == 0 || !self.one_leads;
            Shared::new(Controller::started(&self.scene.kube, self.max_lag, leads))
        };
        let state = State {
            kube: Shared::new(self.scene.kube.clone()),
            cloud: Shared::new(self.scene.cloud.clone()),
            past: Vec::new(),
            controllers: (0..self.controllers).map(started).collect(),
            leader: self.one_leads.then_some(0),
            late: BTreeSet::new(),
            at: Vec::new(),
            faults: 0,
            waits: 0,
            past_of: PastOf {
                outdated: BTreeSet::new(),
                sets_unread: BTreeSet::new(),
                by_hand,
                missing_for: PATIENCE,
            },
            mark: None,
            broken: None,
        };
        let mut initial = from(&self.scene, state);
        initial.faults = self.faults;
        initial.at = vec![0; self.tracks.len()];
        Configuration {
            name: self.name,
            cast: self.scene.cast,
            initial,
            tracks: self.tracks,
            befalls: self.befalls,
            reaches: self.reaches,
            waits: self.waits,
            prompt: self.prompt,
            calm: Arc::new(Calm::new()),
        }
    }
}
