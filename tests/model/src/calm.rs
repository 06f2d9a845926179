//! Liveness, from every state: without further faults, with everything heard of, a fair run of all
//! controllers comes to rest in few steps, where the wish has it, and nothing is written any more.
//!
//! Runs from different states soon meet. What a run has shown to end well is remembered, so that each
//! state of all runs is gone through once.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use mooring_plan::step::Step;

use crate::action::brief;
use crate::cast::Cast;
use crate::shared::fingerprint;
use crate::state::State;
use crate::wish;
use crate::world::controller::Controller;

/// At most so many rounds, in each of which every controller takes a step for every IP.
const ROUNDS: usize = 1000;

/// So many parts has the memory, so that threads seldom wait for each other.
const SHARDS: usize = 64;

/// What ends well.
#[derive(Debug)]
pub struct Calm {
    ends_well: Vec<Mutex<HashSet<u64>>>,
}

/// Steps, for a report.
type Story = Vec<String>;

impl Calm {
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

    /// How many states the runs went through.
    pub fn states(&self) -> usize {
        let part =
            |part: &Mutex<HashSet<u64>>| part.lock().unwrap_or_else(PoisonError::into_inner).len();
        self.ends_well.iter().map(part).sum()
    }

    /// Does it come to rest from here, whoever is first, and whether late requests land or are lost?
    pub fn settles(&self, cast: &Cast, state: &State) -> Result<(), String> {
        for (order, calm) in runs(cast, state) {
            self.run(cast, calm, &order, None)?;
        }
        Ok(())
    }

    /// The first run that does not end well, step by step.
    pub fn explain(&self, cast: &Cast, state: &State) -> Option<(String, Story)> {
        runs(cast, state).into_iter().find_map(|(order, calm)| {
            let mut story = Story::new();
            let failed = Self::new()
                .run(cast, calm, &order, Some(&mut story))
                .err()?;
            Some((failed, story))
        })
    }

    /// Where a run from here rests.
    pub fn rest(&self, cast: &Cast, state: &State) -> Result<State, String> {
        let (order, calm) = runs(cast, state).swap_remove(0);
        let mut story = Story::new();
        let rest = Self::new().run(cast, calm, &order, Some(&mut story));
        rest.map_err(|failed| format!("{failed}\n{}", story.join("\n")))
    }

    fn run(
        &self,
        cast: &Cast,
        mut state: State,
        order: &[usize],
        mut story: Option<&mut Story>,
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
                    return Err("it goes round in circles, and writes".to_owned());
                }
                wish::holds(&state)?;
                self.remember(met.into_keys());
                return Ok(state);
            }
            met.insert(key, written);
            let mut busy = false;
            for which in order {
                for controller in &mut state.controllers {
                    if !controller.pending.is_empty() {
                        controller.change(Controller::receive_all);
                    }
                }
                let (took, wrote) = turn(cast, &mut state, *which, story.as_deref_mut());
                busy |= took;
                written += wrote;
            }
            if !busy {
                state.pass_until_due();
            }
            if let Some(broken) = &state.broken {
                return Err(broken.to_string());
            }
            state.mark = None;
            state.waits = 0;
        }
        Err(format!("it does not rest within {ROUNDS} rounds"))
    }
}

/// The calm runs from a state: each order of the controllers; late requests land at once, or never.
fn runs(cast: &Cast, state: &State) -> Vec<(Vec<usize>, State)> {
    let mut calm = state.clone();
    calm.faults = 0;
    calm.past.clear();
    calm.at.clear();
    calm.mark = None;
    calm.waits = 0;
    let mut starts = vec![calm.clone()];
    starts[0].late.clear();
    if !calm.late.is_empty() {
        for late in calm.late.clone() {
            calm.land(cast, &late);
        }
        calm.mark = None;
        starts.push(calm);
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

/// One whole step of a controller for each IP, and an inventory if one is due: did it do anything, and
/// how often did it write?
fn turn(
    cast: &Cast,
    state: &mut State,
    which: usize,
    mut story: Option<&mut Story>,
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
            written += usize::from(!matches!(step, Step::Read(_)));
            if let Some(story) = story.as_deref_mut() {
                story.push(format!("[{which}] {name}: {}", brief(step)));
            }
            state.begin(cast, which, &name);
        }
        busy = true;
        let request = state.controllers[which].requests.get(&name);
        if request.is_some_and(|request| request.answer.is_none()) {
            state.execute(cast, which, &name);
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
