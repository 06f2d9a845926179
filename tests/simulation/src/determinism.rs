//! Runs one seed in this process, deterministically: all clocks show simulated time, and all random numbers of the
//! system come from the seed. Tokio seeds its own choices from them too.

use std::io::Write as _;
use std::sync::mpsc;
use std::time::Duration;

use mooring_simulation::scenarios::{self, Report, Scenario};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};

/// The time limit of a seed in real time.
const LIMIT: Duration = Duration::from_mins(3);
/// The length of a step of turmoil. Within a step, time advances from timer to timer.
const STEP: Duration = Duration::from_secs(1);

/// The first line of the output of a child process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The simulated time in milliseconds.
    pub simulated: u64,
    /// The number of faults that took effect.
    pub faults: u64,
    /// The number of killed processes.
    pub crashes: u64,
    /// The number of manual corrections.
    pub manual_changes: u64,
    /// The number of requests.
    pub requests: u64,
    /// The number of calls with several addresses.
    pub together: u64,
    /// The number of completed moves.
    pub moves: u64,
    /// The failure.
    pub failed: Option<String>,
    /// The time of the failure in seconds.
    pub failed_at: f64,
}

impl From<&Report> for Outcome {
    fn from(report: &Report) -> Self {
        Self {
            simulated: u64::try_from(report.simulated.as_millis()).unwrap_or(u64::MAX),
            faults: report.faults,
            crashes: report.crashes,
            manual_changes: report.manual_changes,
            requests: report.requests,
            together: report.together,
            moves: report.seen.moves,
            failed: report.failed.as_ref().map(|(_, why)| why.clone()),
            failed_at: report
                .failed
                .as_ref()
                .map_or(0.0, |(at, _)| at.as_secs_f64()),
        }
    }
}

/// Runs the seed, and prints the outcome in one line, then the trace.
pub fn run(scenario: Scenario, seed: u64, traced: bool) {
    mad_turmoil::rand::set_rng(StdRng::seed_from_u64(seed));
    let clocks = mad_turmoil::time::SimClocksGuard::init();
    // Only this thread has real time.
    std::thread::spawn(|| {
        std::thread::sleep(LIMIT);
        std::process::exit(9);
    });
    let (sender, report) = mpsc::channel();
    let mut world = turmoil::Builder::new()
        .tick_duration(STEP)
        .simulation_duration(Duration::from_secs(1 << 32))
        .build();
    world.client("world", async move {
        let report = scenarios::run(scenario, seed, traced).await;
        sender.send(report).expect("the receiver exists");
        Ok(())
    });
    world.run().expect("the seed ends");
    let report: Report = report.recv().expect("the seed has a report");
    drop(world);
    drop(clocks);
    let mut out = std::io::stdout().lock();
    let first = serde_json::to_string(&Outcome::from(&report)).expect("an outcome is JSON");
    let written = writeln!(out, "{first}").and_then(|()| {
        report
            .trace
            .iter()
            .try_for_each(|line| writeln!(out, "{line}"))
    });
    written.expect("the parent process reads the output");
}
