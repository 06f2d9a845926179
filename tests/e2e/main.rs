//! The end-to-end tests (scenes): real Kubernetes, the EC2 emulator, and the built `mooring`.
//!
//! Scenes that can share a cluster run in parallel in one cluster. Scenes that kill processes or count requests have a
//! separate cluster. After every scene, the judge checks the histories of EC2 and of the API server (`harness::judge`).
//!
//! `cargo test --test e2e -- attach` runs the scenes whose names contain `attach`. `MOORING_E2E_ONLY="attach room"`
//! runs those whose names contain one of the words. `MOORING_E2E_SHARED` and `MOORING_E2E_ALONE` limit how many scenes
//! of each kind run at a time (8 and 4).
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::panic,
    clippy::unwrap_used,
    missing_docs
)]

#[macro_use]
mod harness;

mod abuse;
mod answers;
mod any_pod;
mod attach;
mod authorize_use;
mod bench;
mod block_rules;
mod certificates;
mod client_ca;
mod clocks;
mod cold;
mod contention;
mod crash;
mod delete;
mod edit;
mod failover;
mod fast_failover;
mod faults;
mod flow_control;
mod foreign;
mod foreign_webhook;
mod from_zero;
mod ip_rules;
mod leader;
mod machines;
mod malformed;
mod marks;
mod names;
mod network;
mod one_file;
mod outage;
mod pod_additions;
mod pod_refusals;
mod primary;
mod process;
mod quiet;
mod readme;
mod release;
mod replay;
mod rights;
mod rolling;
mod rollout;
mod room;
mod schema;
mod secrets;
mod self_managed;
mod stateful;
mod stolen;
mod stuck;
mod takeover;
mod two_leaders;
mod two_replicas;
mod uninstall;
mod vanished;
mod versions;
mod waiting;
mod webhook_alone;
mod webhook_down;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use harness::{clusters, judge, runner};

fn trials() -> Vec<Trial> {
    [
        // These need the whole machine: they run before the others.
        rolling::scenes(),
        self_managed::scenes(),
        // The longest scenes start early, so that none of them runs alone at the end.
        vanished::scenes(),
        replay::scenes(),
        stateful::scenes(),
        abuse::scenes(),
        answers::scenes(),
        any_pod::scenes(),
        attach::scenes(),
        authorize_use::scenes(),
        bench::scenes(),
        block_rules::scenes(),
        certificates::scenes(),
        client_ca::scenes(),
        clocks::scenes(),
        cold::scenes(),
        contention::scenes(),
        crash::scenes(),
        delete::scenes(),
        edit::scenes(),
        failover::scenes(),
        fast_failover::scenes(),
        faults::scenes(),
        flow_control::scenes(),
        foreign::scenes(),
        foreign_webhook::scenes(),
        from_zero::scenes(),
        ip_rules::scenes(),
        judge::explained::scenes(),
        judge::rules::scenes(),
        leader::scenes(),
        machines::scenes(),
        malformed::scenes(),
        marks::scenes(),
        names::scenes(),
        network::scenes(),
        one_file::scenes(),
        outage::scenes(),
        pod_additions::scenes(),
        pod_refusals::scenes(),
        primary::scenes(),
        process::scenes(),
        quiet::scenes(),
        readme::scenes(),
        release::scenes(),
        rights::scenes(),
        rollout::scenes(),
        room::scenes(),
        schema::scenes(),
        secrets::scenes(),
        stolen::scenes(),
        stuck::scenes(),
        takeover::scenes(),
        two_leaders::scenes(),
        two_replicas::scenes(),
        uninstall::scenes(),
        versions::scenes(),
        waiting::scenes(),
        webhook_alone::scenes(),
        webhook_down::scenes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // A waiting scene needs only a thread. `runner` limits how many run at a time.
    arguments.test_threads.get_or_insert(256);
    runner::quiet_panics();
    let mut trials = trials();
    let name = |trial: &Trial| trial.name().to_owned();
    let mut run = faults::TestRun {
        all: trials.iter().map(name).collect(),
        ignored: trials
            .iter()
            .filter(|trial| trial.has_ignored_flag())
            .map(name)
            .collect(),
        complete: true,
    };
    if let Ok(only) = std::env::var("MOORING_E2E_ONLY") {
        trials.retain(|trial| {
            only.split_whitespace()
                .any(|part| trial.name().contains(part))
        });
        run.complete = false;
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let failed = conclusion.has_failed();
    replay::report();
    runner::report();
    bench::report();
    clusters::end(failed);
    if failed || arguments.list {
        return conclusion.exit_code();
    }
    run.complete &= conclusion.num_filtered_out == 0;
    match faults::check(&run) {
        Ok(()) => conclusion.exit_code(),
        Err(message) => {
            eprintln!("tests/faults.toml:\n{message}");
            ExitCode::FAILURE
        }
    }
}
