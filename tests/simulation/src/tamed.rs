//! One seed in this process, with time and chance taken over: clocks are the simulation's, and whatever
//! asks the system for random numbers gets the seed's. Tokio seeds its own choices from those too.

use std::io::Write as _;
use std::sync::mpsc;
use std::time::Duration;

use mooring_simulation::play::{self, Report, Scenario};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};

/// No seed takes so long, whatever else the machine does.
const ENDLESS: Duration = Duration::from_mins(3);
/// Each step of turmoil's; within one, time goes from timer to timer.
const STEP: Duration = Duration::from_secs(1);

/// The first line that a child says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Milliseconds.
    pub simulated: u64,
    /// How many took effect.
    pub faults: u64,
    /// How many processes were killed.
    pub crashes: u64,
    /// How often a person had to set something right.
    pub by_hand: u64,
    /// How many requests were made.
    pub requests: u64,
    /// How many moves were completed.
    pub moves: u64,
    /// What went wrong.
    pub failed: Option<String>,
    /// When, in seconds.
    pub failed_at: f64,
}

impl From<&Report> for Outcome {
    fn from(report: &Report) -> Self {
        Self {
            simulated: u64::try_from(report.simulated.as_millis()).unwrap_or(u64::MAX),
            faults: report.faults,
            crashes: report.crashes,
            by_hand: report.by_hand,
            requests: report.requests,
            moves: report.seen.moves,
            failed: report.failed.as_ref().map(|(_, why)| why.clone()),
            failed_at: report
                .failed
                .as_ref()
                .map_or(0.0, |(at, _)| at.as_secs_f64()),
        }
    }
}

/// Plays it, and says what came of it: a line, and then the trace.
pub fn play(scenario: Scenario, seed: u64, traced: bool) {
    mad_turmoil::rand::set_rng(StdRng::seed_from_u64(seed));
    let clocks = mad_turmoil::time::SimClocksGuard::init();
    // Real time passes for this thread alone.
    std::thread::spawn(|| {
        std::thread::sleep(ENDLESS);
        std::process::exit(9);
    });
    let (told, report) = mpsc::channel();
    let mut world = turmoil::Builder::new()
        .tick_duration(STEP)
        .simulation_duration(Duration::from_secs(1 << 32))
        .build();
    world.client("world", async move {
        let report = play::play(scenario, seed, traced).await;
        told.send(report).expect("somebody waits for it");
        Ok(())
    });
    world.run().expect("the seed ends");
    let report: Report = report.recv().expect("the seed was played");
    drop(world);
    drop(clocks);
    let mut out = std::io::stdout().lock();
    let first = serde_json::to_string(&Outcome::from(&report)).expect("it is text");
    let said = writeln!(out, "{first}").and_then(|()| {
        report
            .trace
            .iter()
            .try_for_each(|line| writeln!(out, "{line}"))
    });
    said.expect("whoever started this listens");
}
