//! `mooring-simulation`: runs the real controller in a simulated world. A seed determines everything that happens.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "this is a test: an unexpected condition ends it"
)]

mod determinism;
mod runner;

use std::process::ExitCode;

use clap::Parser;
use mooring_simulation::scenarios::Scenario;

/// Runs seeds, each in a separate process, and judges them.
#[derive(Debug, Parser)]
struct Args {
    /// How many seeds
    #[arg(long, default_value_t = 500)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Only this seed
    #[arg(long)]
    seed: Option<u64>,
    /// Print the trace of the one seed
    #[arg(long, requires = "seed")]
    trace: bool,
    /// The scenario
    #[arg(long, default_value = "storm", value_parser = scenario)]
    scenario: Scenario,
    /// The number of seeds that run twice; their traces must be equal
    #[arg(long, default_value_t = 100)]
    twice: u64,
    /// How many seeds run at the same time
    #[arg(long, default_value_t = 2)]
    at_once: usize,
    /// Continue after a seed has failed
    #[arg(long)]
    go_on: bool,
    /// Run the seed in this process, for the parent process
    #[arg(long, hide = true)]
    child: bool,
}

fn scenario(name: &str) -> Result<Scenario, String> {
    let names: Vec<&str> = Scenario::ALL.iter().map(|(name, _)| *name).collect();
    Scenario::named(name).ok_or_else(|| format!("the scenarios are {}", names.join(", ")))
}

fn main() -> ExitCode {
    let args = Args::parse();
    match args.seed {
        Some(seed) if args.child => {
            determinism::run(args.scenario, seed, args.trace);
            ExitCode::SUCCESS
        }
        Some(seed) => runner::one(args.scenario, seed, args.trace),
        None => runner::many(&runner::Batch {
            scenario: args.scenario,
            from: args.from,
            seeds: args.seeds,
            twice: args.twice.min(args.seeds),
            at_once: args.at_once,
            go_on: args.go_on,
        }),
    }
}
