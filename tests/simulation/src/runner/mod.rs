//! Runs many seeds: each in a new process, some at the same time, some twice.

mod child;
mod clock;
mod tally;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};

use mooring_simulation::scenarios::Scenario;

use child::{Child, run};
use clock::{cpu, real};
use tally::Tally;

/// The number of lines of a trace that are shown after a failure.
const SHOWN: usize = 60;

/// The seeds to run.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// The scenario.
    pub scenario: Scenario,
    /// The first seed.
    pub from: u64,
    /// The number of seeds.
    pub seeds: u64,
    /// The number of seeds that run twice.
    pub twice: u64,
    /// The number of seeds at the same time.
    pub at_once: usize,
    /// Continue after a seed has failed?
    pub go_on: bool,
}

/// Runs one seed, and shows its whole trace or the end of it.
pub fn one(scenario: Scenario, seed: u64, trace: bool) -> ExitCode {
    let result = run(scenario, seed, trace);
    match result {
        Ok(child) => {
            if trace {
                println!("{}", child.trace);
            }
            println!("{:?}", child.outcome);
            match &child.outcome.failed {
                Some(_) => fail(scenario, seed, &child),
                None => ExitCode::SUCCESS,
            }
        }
        Err(why) => {
            eprintln!("seed {seed}: {why}");
            ExitCode::FAILURE
        }
    }
}

fn name(scenario: Scenario) -> &'static str {
    let found = Scenario::ALL.iter().find(|(_, known)| *known == scenario);
    found.map_or("?", |(name, _)| name)
}

fn short(text: &str) -> String {
    text.chars().take(600).collect()
}

/// Shows the trace before the failure, without regular requests such as watches.
fn fail(scenario: Scenario, seed: u64, child: &Child) -> ExitCode {
    let at = child.outcome.failed_at;
    let time = |line: &str| {
        line.split_whitespace()
            .next()
            .and_then(|text| text.parse::<f64>().ok())
    };
    let idle = [
        " leases/",
        "limit=1 ",
        " watch ",
        "DescribeNetworkInterfaces",
    ];
    let before = child.trace.lines().filter(|line| {
        time(line).is_none_or(|time| time <= at) && !idle.iter().any(|idle| line.contains(idle))
    });
    let lines: Vec<&str> = before.collect();
    for line in lines
        .get(lines.len().saturating_sub(SHOWN)..)
        .unwrap_or_default()
    {
        eprintln!("{}", short(line));
    }
    let why = child.outcome.failed.as_deref().unwrap_or_default();
    eprintln!("seed {seed} of {}: {why}", name(scenario));
    repeat(scenario, seed);
    ExitCode::FAILURE
}

fn repeat(scenario: Scenario, seed: u64) {
    eprintln!(
        "again: cargo run --profile optimised -p mooring-simulation -- --scenario {} --seed {seed} --trace",
        name(scenario)
    );
}

/// Runs many seeds.
pub fn many(batch: &Batch) -> ExitCode {
    let begun = real();
    // A build in this process can have used CPU time before.
    let used = cpu();
    let next = AtomicU64::new(0);
    let failed: Mutex<Vec<(u64, Result<Child, String>)>> = Mutex::new(Vec::new());
    let (sender, results) = mpsc::channel();
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        for _ in 0..batch.at_once.max(1) {
            let (sender, next, failed) = (sender.clone(), &next, &failed);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let ended =
                        !batch.go_on && failed.lock().is_ok_and(|failed| !failed.is_empty());
                    if number >= batch.seeds || ended {
                        return;
                    }
                    let seed = batch.from + number;
                    match run_seed(batch, seed, number < batch.twice) {
                        Ok(outcome) => sender.send(outcome).expect("the receiver exists"),
                        Err(failure) => failed
                            .lock()
                            .expect("no thread panics")
                            .push((seed, failure)),
                    }
                }
            });
        }
        drop(sender);
        for (outcome, twice) in results {
            tally.add(&outcome, twice);
            if tally.seeds.is_multiple_of(50) {
                println!("{} of {} seeds", tally.seeds, batch.seeds);
            }
        }
    });
    let mut failed = failed.into_inner().expect("no thread panics");
    failed.sort_by_key(|(seed, _)| *seed);
    println!(
        "{}",
        tally.summary(name(batch.scenario), real() - begun, cpu() - used)
    );
    for (seed, failure) in &failed {
        let why = match failure {
            Ok(child) => child.outcome.failed.as_deref().unwrap_or_default(),
            Err(why) => why,
        };
        eprintln!("failed: seed {seed}: {}", short(why));
    }
    let Some((seed, failure)) = failed.into_iter().next() else {
        return ExitCode::SUCCESS;
    };
    match failure {
        Ok(child) => fail(batch.scenario, seed, &child),
        Err(why) => {
            eprintln!("seed {seed} of {}: {why}", name(batch.scenario));
            repeat(batch.scenario, seed);
            ExitCode::FAILURE
        }
    }
}

/// Runs a seed once or twice.
fn run_seed(
    batch: &Batch,
    seed: u64,
    twice: bool,
) -> Result<(tally::Outcome, bool), Result<Child, String>> {
    let first = run(batch.scenario, seed, twice).map_err(Err)?;
    if first.outcome.failed.is_some() {
        return Err(Ok(first));
    }
    if twice {
        let second = run(batch.scenario, seed, twice).map_err(Err)?;
        if first.trace != second.trace {
            return Err(Err(difference(&first.trace, &second.trace)));
        }
        if first.trace.is_empty() {
            return Err(Err("the trace is empty".to_owned()));
        }
    }
    Ok((first.outcome, twice))
}

/// The first line in which two traces differ.
fn difference(first: &str, second: &str) -> String {
    let lines = first.lines().zip(second.lines()).enumerate();
    let differing = lines.into_iter().find(|(_, (one, other))| one != other);
    match differing {
        Some((number, (one, other))) => {
            format!(
                "the traces of two runs differ first in line {}:\n  {one}\n  {other}",
                number + 1
            )
        }
        None => format!(
            "the traces of two runs have {} and {} lines",
            first.lines().count(),
            second.lines().count()
        ),
    }
}
