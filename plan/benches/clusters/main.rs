//! How long a drain takes where many clusters share the token buckets of one AWS account.
//!
//! `cargo bench --package mooring-plan --bench clusters`, and after ` -- ` the number of IPs of each cluster: by default
//! only those that move, since the others are not touched.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod account;
mod at_rest;
mod chance;
mod cluster;
mod figures;
mod interfaces;
mod run;

use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use account::Account;
use at_rest::{DRAINED, MOVES};
use cluster::Cluster;
use figures::Figures;
use mooring_plan::buckets::Budget;
use run::Run;

/// Clusters, and how they share.
#[derive(Clone, Copy)]
struct Scenario {
    name: &'static str,
    clusters: usize,
    accounts: usize,
    /// What EC2 allows each account.
    quota: Budget,
    /// The budget in the flags of each cluster.
    flags: Budget,
}

const EC2: Budget = Budget {
    burst: 100,
    per_second: 5,
};
const RAISED: Budget = Budget {
    burst: 400,
    per_second: 20,
};

/// The part of one cluster, and at least what the flags take.
fn part(clusters: usize) -> Budget {
    let clusters = clusters as u64;
    Budget {
        burst: (EC2.burst / clusters).max(1),
        per_second: (EC2.per_second / clusters).max(1),
    }
}

/// How this number of clusters can share accounts and quotas.
fn scenarios(clusters: usize) -> impl Iterator<Item = Scenario> {
    let one = Scenario {
        name: "one account",
        clusters,
        accounts: 1,
        quota: EC2,
        flags: EC2,
    };
    let all = [
        one,
        Scenario {
            name: "one account, a part of it in the flags",
            flags: part(clusters),
            ..one
        },
        Scenario {
            name: "two accounts",
            accounts: 2,
            ..one
        },
        Scenario {
            name: "quota x 4 in EC2",
            quota: RAISED,
            ..one
        },
        Scenario {
            name: "quota x 4 in EC2 and in the flags",
            quota: RAISED,
            flags: RAISED,
            ..one
        },
    ];
    // One cluster has all of its account.
    all.into_iter().filter(move |scenario| {
        clusters > 1 || scenario.accounts == 1 && scenario.name != all[1].name
    })
}

fn measure(ips: u32, scenario: &Scenario) -> (Figures, Vec<Account>) {
    let template = Cluster::at_rest(ips, scenario.flags);
    let all = vec![template; scenario.clusters];
    let accounts = vec![Account::new(scenario.quota); scenario.accounts];
    let mut run = Run::of(all, accounts, at_rest::now());
    run.drain();
    for cluster in &run.clusters {
        cluster.assert_nothing_lost();
    }
    (Figures::of(&run), run.accounts)
}

/// Seconds that EC2 needs at least for the fewest calls of one action: one for each drained node, in each cluster.
fn floor(scenario: &Scenario) -> u64 {
    let calls = u64::from(DRAINED) * scenario.clusters as u64 / scenario.accounts as u64;
    let missing = calls.saturating_sub(scenario.quota.burst);
    missing.div_ceil(scenario.quota.per_second)
}

fn row(scenario: &Scenario, figures: &Figures, accounts: &[Account]) -> String {
    let [mut assigns, mut unassigns, mut throttled] = [0, 0, 0];
    for [assign, unassign] in accounts.iter().map(Account::calls) {
        assigns += assign.executed;
        unassigns += unassign.executed;
        throttled += assign.throttled + unassign.throttled;
    }
    let fewest = DRAINED as usize * scenario.clusters;
    format!(
        "| {} | {} | {:.1} s ({} s) | {:.1} s | {:.1} s | {:.1} to {:.1} s | {assigns} / {unassigns} ({fewest}) | {throttled} |",
        scenario.clusters,
        scenario.name,
        figures.took,
        floor(scenario),
        figures.median,
        figures.late,
        figures.first_cluster,
        figures.last_cluster,
    )
}

/// The most memory that this process has had, in MiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.map_or(0, |number| number.parse::<u64>().unwrap() / 1024)
}

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let ips: u32 = numbers.next().unwrap_or(MOVES);
    let most = numbers.next().unwrap_or(100);
    let begun = Instant::now();
    let sizes = [1, 10, 100].into_iter().filter(|size| *size <= most);
    let all: Vec<Scenario> = sizes.flat_map(|size| scenarios(size as usize)).collect();
    // The last take longest, and are begun first. A scenario is of one thread, and no two share anything.
    let waiting = Mutex::new((0..all.len()).collect::<Vec<_>>());
    let rows = Mutex::new(vec![String::new(); all.len()]);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism()
            .map_or(1, usize::from)
            .min(4)
        {
            scope.spawn(|| {
                loop {
                    let Some(number) = waiting.lock().unwrap().pop() else {
                        return;
                    };
                    let (figures, accounts) = measure(ips, &all[number]);
                    let row = row(&all[number], &figures, &accounts);
                    eprintln!("{row} {:?}", begun.elapsed());
                    rows.lock().unwrap()[number] = row;
                }
            });
        }
    });
    println!(
        "| clusters | | all attached after (floor) | median | 99th percentile | the first and the last cluster | Assign / Unassign (fewest) | throttled |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for row in rows.into_inner().unwrap() {
        println!("{row}");
    }
    println!(
        "{MOVES} moves in each cluster of {ips} IPs; it took {:.0} s and {} MiB",
        begun.elapsed().as_secs_f64(),
        memory()
    );
}
