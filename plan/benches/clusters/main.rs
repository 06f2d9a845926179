//! How long a drain takes where many clusters share the token buckets of one AWS account.
//!
//! `cargo bench --package mooring-plan --bench clusters`
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
mod interfaces;
mod run;

use std::time::{Duration, Instant};

use account::Account;
use at_rest::MOVES;
use cluster::Cluster;
use mooring_plan::buckets::Budget;
use run::Run;

/// How the clusters share.
struct Sharing {
    name: &'static str,
    accounts: usize,
    quota: Budget,
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

const SHARINGS: [Sharing; 4] = [
    Sharing {
        name: "one account",
        accounts: 1,
        quota: EC2,
        flags: EC2,
    },
    Sharing {
        name: "two accounts",
        accounts: 2,
        quota: EC2,
        flags: EC2,
    },
    Sharing {
        name: "quota x 4",
        accounts: 1,
        quota: RAISED,
        flags: EC2,
    },
    Sharing {
        name: "quota x 4, flags x 4",
        accounts: 1,
        quota: RAISED,
        flags: RAISED,
    },
];

fn scenario(clusters: usize, ips: u32, sharing: &Sharing) {
    let begun = Instant::now();
    let template = Cluster::at_rest(ips, sharing.flags);
    let built = begun.elapsed();
    let all = vec![template; clusters];
    let cloned = begun.elapsed() - built;
    let accounts = vec![Account::new(sharing.quota); sharing.accounts];
    let mut run = Run::of(all, accounts, mooring_plan::time::Instant::from_secs(1180));
    run.drain();
    for cluster in &run.clusters {
        cluster.assert_nothing_lost();
    }
    let per_cluster = run.times();
    let mut times: Vec<Duration> = per_cluster.iter().flatten().copied().collect();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64();
    let mut lasts: Vec<f64> = per_cluster
        .iter()
        .map(|times| times[times.len() - 1].as_secs_f64())
        .collect();
    lasts.sort_by(f64::total_cmp);
    let calls = run.accounts.iter().map(Account::calls);
    println!(
        "{clusters} clusters, {ips} IPs, {}: took {:.1} s, median {:.1} p99 {:.1}, cluster first {:.1} last {:.1}, calls {:?}; built {built:?} cloned {cloned:?} ran {:?} memory {} MiB",
        sharing.name,
        run.took().as_secs_f64(),
        at(50),
        at(99),
        lasts[0],
        lasts[lasts.len() - 1],
        calls.collect::<Vec<_>>(),
        begun.elapsed() - built - cloned,
        memory()
    );
}

/// The most memory that this process has had, in MiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.map_or(0, |number| number.parse::<u64>().unwrap() / 1024)
}

fn main() {
    let arguments: Vec<u32> = std::env::args().filter_map(|it| it.parse().ok()).collect();
    let ips = arguments.first().copied().unwrap_or(MOVES);
    let most = arguments.get(1).copied().unwrap_or(100);
    for clusters in [1, 10, 100] {
        for sharing in &SHARINGS {
            if clusters <= most as usize {
                scenario(clusters, ips, sharing);
            }
        }
    }
}
