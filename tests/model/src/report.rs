//! Explores a configuration and reports the result.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

use stateright::{Checker, Expectation, HasDiscoveries, Model};

use crate::action::{Action, describe};
use crate::model::{Configuration, SETTLES};
use crate::state::State;
use crate::world::state_cache;

/// The interval of the progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// The result of the exploration of a configuration.
pub struct Explored {
    pub name: &'static str,
    pub states: usize,
    pub liveness_states: usize,
    pub depth: usize,
    pub took: Duration,
    /// Was every state seen?
    pub complete: bool,
    /// The effects that must be reached, and whether each was reached.
    pub reached: Vec<(&'static str, bool)>,
    /// The violated properties, each with the path to the violation.
    pub violated: Vec<(&'static str, String)>,
}

impl Explored {
    /// Is no property violated, and was every effect reached?
    pub fn passed(&self) -> bool {
        self.complete && self.violated.is_empty() && self.reached.iter().all(|(_, so)| *so)
    }
}

/// Explores it to the end, or to the first violation.
pub fn explore(configuration: &Configuration, threads: usize) -> Explored {
    state_cache::clear_caches();
    let begun = Instant::now();
    let checker = configuration.clone().checker().threads(threads);
    let mut checker = checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs();
    let terminal = std::io::stderr().is_terminal();
    for handle in checker.handles() {
        let mut shown = Instant::now();
        while !handle.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
            if shown.elapsed() >= PROGRESS_INTERVAL {
                shown = Instant::now();
                let (states, depth) = (checker.unique_state_count(), checker.max_depth());
                let end = if terminal { "\r" } else { "\n" };
                let _closed = write!(
                    std::io::stderr(),
                    "{}: {states} states, {depth} deep, {} s{end}",
                    configuration.name,
                    begun.elapsed().as_secs()
                );
            }
        }
        if let Err(panicked) = handle.join() {
            std::panic::resume_unwind(panicked);
        }
    }
    let found = checker.discoveries();
    let mut reached = Vec::new();
    let mut violated = Vec::new();
    for property in configuration.properties() {
        let path = found.get(property.name);
        match property.expectation {
            Expectation::Sometimes => reached.push((property.name, path.is_some())),
            _ => violated.extend(path.map(|path| {
                let story = story(configuration, path.clone().into_vec());
                (property.name, story)
            })),
        }
    }
    Explored {
        name: configuration.name,
        states: checker.unique_state_count(),
        liveness_states: configuration.liveness.states(),
        depth: checker.max_depth(),
        took: begun.elapsed(),
        complete: checker.is_done() && violated.is_empty(),
        reached,
        violated,
    }
}

/// A path, one line for each transition, and the violation at its end.
fn story(configuration: &Configuration, path: Vec<(State, Option<Action>)>) -> String {
    let mut story = String::new();
    let mut last = None;
    for (state, action) in path {
        if let Some(action) = action {
            let _ = writeln!(
                story,
                "  {}",
                describe(&state, &configuration.tracks, &action)
            );
        }
        last = Some(state);
    }
    let Some(last) = last else { return story };
    if let Some(broken) = &last.broken {
        let _ = writeln!(story, "  => {broken}");
    } else if let Some((why, steps)) = configuration
        .liveness
        .explain(&configuration.fixtures, &last)
    {
        let _ = writeln!(story, "  then, with no further fault:");
        let from = steps.len().saturating_sub(60);
        for step in &steps[from..] {
            let _ = writeln!(story, "  {step}");
        }
        let _ = writeln!(story, "  => {SETTLES}: {why}");
    }
    for ip in last.kube.ips.values() {
        let _ = writeln!(story, "  {ip:?}");
    }
    for pod in last.kube.pods.values() {
        let _ = writeln!(story, "  {pod:?}");
    }
    let _ = writeln!(story, "  assigned: {:?}", last.cloud.assigned());
    story
}
