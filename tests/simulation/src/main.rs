//! `mooring-simulation`: the real controller in a world that one number decides, many numbers long.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "this is a test: what cannot go on ends"
)]

mod orchestra;
mod tamed;

use std::process::ExitCode;

use clap::Parser;
use mooring_simulation::play::Scenario;

/// Plays seeds, each in a process of its own, and judges them.
#[derive(Debug, Parser)]
struct Args {
    /// How many seeds
    #[arg(long, default_value_t = 500)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// This seed alone
    #[arg(long)]
    seed: Option<u64>,
    /// Write down everything that happens in the one seed
    #[arg(long, requires = "seed")]
    trace: bool,
    /// What is played
    #[arg(long, default_value = "storm", value_parser = scenario)]
    scenario: Scenario,
    /// So many of the seeds, or all, are played twice, and their traces compared
    #[arg(long, default_value_t = 100)]
    twice: u64,
    /// How many seeds are played at once
    #[arg(long, default_value_t = 2)]
    at_once: usize,
    /// Go on after a seed has failed
    #[arg(long)]
    go_on: bool,
    /// Plays the seed here, for the process that has started this one
    #[arg(long, hide = true)]
    child: bool,
}

fn scenario(name: &str) -> Result<Scenario, String> {
    let names: Vec<&str> = Scenario::ALL.iter().map(|(name, _)| *name).collect();
    Scenario::named(name).ok_or_else(|| format!("there are {}", names.join(", ")))
}

fn main() -> ExitCode {
    let args = Args::parse();
    match args.seed {
        Some(seed) if args.child => {
            tamed::play(args.scenario, seed, args.trace);
            ExitCode::SUCCESS
        }
        Some(seed) => orchestra::one(args.scenario, seed, args.trace),
        None => orchestra::many(&orchestra::Order {
            scenario: args.scenario,
            from: args.from,
            seeds: args.seeds,
            twice: args.twice.min(args.seeds),
            at_once: args.at_once,
            go_on: args.go_on,
        }),
    }
}
