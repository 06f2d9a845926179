//! Liveness, from every state: without further faults, and with all watch events received, a fair run of all
//! controllers ends after a few steps in a state that fulfils the goal, and no more writes follow.
//!
//! Runs from different states soon reach the same states. The states of successful runs are stored, so that
//! each state is visited once.
//!
//! A missing permission returns at the start of a run, or never. If it never returns, an address may stay where it is,
//! and denied calls are repeated, but no more writes follow in this case either: a claim that goes from one pod to the
//! next and back would be written without end.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use mooring_plan::step::Step;
use mooring_world::goal::AtRest;
use mooring_world::text::brief;

use crate::fixtures::Fixtures;
use crate::shared::fingerprint;
use crate::state::State;
use crate::world::controller::Controller;

/// The maximum number of rounds. In each round every controller takes a step for every IP.
const ROUNDS: usize = 1000;

/// The number of shards of the set of states, so that threads seldom wait for the same lock.
const SHARDS: usize = 64;

/// The states from which a run succeeds.
#[derive(Debug)]
pub struct Liveness {
    ends_well: Vec<Mutex<HashSet<u64>>>,
}

/// The steps of a run, for a report.
type Steps = Vec<String>;

impl Liveness {
    pub fn new() -> Self {
        let ends_well = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { ends_well }
    }

    fn known(&self, key: u64) -> bool {
        let part = usize::try_from(key % SHARDS as u64).unwrap_or_default();
        let part = self.ends_well[part]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        part.contains(&key)
    }

    fn remember(&self, keys: impl IntoIterator<Item = u64>) {
        for key in keys {
            let part = usize::try_from(key % SHARDS as u64).unwrap_or_default();
            let part = self.ends_well[part].lock();
            part.unwrap_or_else(PoisonError::into_inner).insert(key);
        }
    }

    /// The number of states that the runs visited.
    pub fn states(&self) -> usize {
        let part =
            |part: &Mutex<HashSet<u64>>| part.lock().unwrap_or_else(PoisonError::into_inner).len();
        self.ends_well.iter().map(part).sum()
    }

    /// Does every run from this state succeed: in each order of the controllers, and whether late requests are
    /// executed or lost?
    pub fn settles(&self, fixtures: &Fixtures, state: &State) -> Result<(), String> {
        for (order, start) in runs(fixtures, state) {
            self.run(fixtures, start, &order, None)?;
        }
        Ok(())
    }

    /// The first run that fails, step by step.
    pub fn explain(&self, fixtures: &Fixtures, state: &State) -> Option<(String, Steps)> {
        runs(fixtures, state)
            .into_iter()
            .find_map(|(order, start)| {
                let mut story = Steps::new();
                let failed = Self::new()
                    .run(fixtures, start, &order, Some(&mut story))
                    .err()?;
                Some((failed, story))
            })
    }

    /// The final state of a run from this state.
    pub fn final_state(&self, fixtures: &Fixtures, state: &State) -> Result<State, String> {
        let (order, start) = runs(fixtures, state).swap_remove(0);
        let mut story = Steps::new();
        let last = Self::new().run(fixtures, start, &order, Some(&mut story));
        last.map_err(|failed| format!("{failed}\n{}", story.join("\n")))
    }

    fn run(
        &self,
        fixtures: &Fixtures,
        mut state: State,
        order: &[usize],
        mut story: Option<&mut Steps>,
    ) -> Result<State, String> {
        let mut met: HashMap<u64, usize> = HashMap::new();
        let mut written = 0;
        for _ in 0..ROUNDS {
            let key = fingerprint(&(&state, order));
            if story.is_none() && self.known(key) {
                self.remember(met.into_keys());
                return Ok(state);
            }
            if let Some(before) = met.get(&key) {
                if *before != written {
                    return Err("it repeats the same states, and writes".to_owned());
                }
                goal_reached(&state)?;
                self.remember(met.into_keys());
                return Ok(state);
            }
            met.insert(key, written);
            let mut busy = false;
            for node in state.kube.nodes_with_part() {
                if state.kube.can_program(&node) || state.kube.can_report(&node) {
                    state.program(&node);
                    state.report(&node);
                    busy = true;
                }
            }
            for which in order {
                for controller in &mut state.controllers {
                    if !controller.pending.is_empty() {
                        controller.change(Controller::receive_all);
                    }
                }
                let (took, wrote) = turn(fixtures, &mut state, *which, story.as_deref_mut());
                busy |= took;
                written += wrote;
            }
            if !busy {
                state.pass_until_due();
            }
            if let Some(broken) = &state.broken {
                return Err(broken.to_string());
            }
            state.milestone = None;
            state.waits = 0;
        }
        Err(format!("it does not come to rest within {ROUNDS} rounds"))
    }
}

/// Whether the state is what the objects ask for, and no controller keeps an IP that is gone.
fn goal_reached(state: &State) -> Result<(), String> {
    for controller in &state.controllers {
        let facts = controller.facts();
        let gone = facts.ip_names().find(|name| {
            let there = state.kube.ips.get(*name).map(|ip| &ip.uid);
            let known = facts.ip(name);
            known.is_some_and(|known| Some(&known.uid) != there)
        });
        if let Some(name) = gone {
            return Err(format!("at rest, a controller keeps {name}, which is gone"));
        }
    }
    let manual = &state.history.manual;
    let goal = AtRest {
        kube: &state.kube,
        cloud: &state.cloud,
        manual: &|address, on| manual.contains(&(address, on.clone())),
    };
    goal.check()
}

/// The runs from a state: each order of the controllers; late requests are executed at once, or never; a missing
/// permission returns at once, or never.
fn runs(fixtures: &Fixtures, state: &State) -> Vec<(Vec<usize>, State)> {
    let mut start = state.clone();
    start.faults = 0;
    start.old_clouds.clear();
    start.at.clear();
    start.milestone = None;
    start.waits = 0;
    let mut starts = vec![start.clone()];
    starts[0].late.clear();
    if !start.late.is_empty() {
        for late in start.late.clone() {
            start.execute_late(fixtures, &late);
        }
        start.milestone = None;
        starts.push(start);
    }
    if !state.cloud.denied().is_empty() {
        for mut permitted in starts.clone() {
            permitted.permit_all();
            starts.push(permitted);
        }
    }
    let forwards: Vec<usize> = (0..state.controllers.len()).collect();
    let backwards: Vec<usize> = forwards.iter().rev().copied().collect();
    let mut orders = vec![forwards];
    if backwards.len() > 1 {
        orders.push(backwards);
    }
    let each = |order: Vec<usize>| {
        starts
            .iter()
            .map(move |start| (order.clone(), start.clone()))
    };
    orders.into_iter().flat_map(each).collect()
}

/// Performs one step of a controller for each IP, and an inventory if one is due. Returns whether it did anything,
/// and the number of its writes.
fn turn(
    fixtures: &Fixtures,
    state: &mut State,
    which: usize,
    mut story: Option<&mut Steps>,
) -> (bool, usize) {
    let (mut busy, mut written) = (false, 0);
    let controller = &state.controllers[which];
    let sent = controller
        .requests
        .keys()
        .chain(controller.facts().ip_names());
    let mut names: Vec<_> = sent.cloned().collect();
    names.dedup();
    for name in names {
        if !state.controllers[which].requests.contains_key(&name) {
            if !state.leads(which) {
                continue;
            }
            let Some(step) = state.controllers[which].next_step(&name) else {
                continue;
            };
            written += usize::from(match step {
                Step::Read(_) => false,
                // A call that is denied is tried again until it is permitted.
                Step::Call(call) => !state.cloud.denied().contains(&call.action()),
                Step::Write(_) => true,
            });
            if let Some(story) = story.as_deref_mut() {
                story.push(format!("[{which}] {name}: {}", brief(step)));
            }
            state.begin(fixtures, which, &name);
        }
        busy = true;
        let request = state.controllers[which].requests.get(&name);
        if request.is_some_and(|request| request.answer.is_none()) {
            state.execute(fixtures, which, &name);
        }
        state.answer(which, &name);
    }
    let controller = &state.controllers[which];
    if controller.inventory().is_some() || state.leads(which) && controller.state.inventory_due {
        busy = true;
        if state.controllers[which].inventory().is_none() {
            state.take_inventory(which, 0);
        }
        state.receive_inventory(which);
        if let Some(story) = story {
            story.push(format!("[{which}] lists the interfaces"));
        }
    }
    (busy, written)
}
