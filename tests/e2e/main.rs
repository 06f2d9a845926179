//! The promises, end to end: real Kubernetes, the EC2 emulator, and the built `mooring`.
//!
//! One cluster is shared by the scenes that can share it, side by side; scenes that kill or count get one of
//! their own. After every scene the histories of EC2 and of the API server are judged (`safety`).
//!
//! `cargo test --test e2e -- attach` runs the scenes whose names contain `attach`, and
//! `MOORING_E2E_ONLY="attach room"` those that contain one of several words. `MOORING_E2E_SHARED` and
//! `MOORING_E2E_ALONE` say how many scenes of either sort run at a time (6 and 3).
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
mod stage;
mod asking;
mod costs;
mod evidence;
mod explained;
mod faults;
mod objects;
mod promises;
mod rules;
mod safety;
mod scene;
mod world;

mod abuse;
mod answers;
mod any_pod;
mod attach;
mod authorize_use;
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

fn trials() -> Vec<Trial> {
    [
        // Those that need the machine for themselves, before anybody else is there.
        rolling::scenes(),
        self_managed::scenes(),
        // It waits for a minute, and so comes early.
        vanished::scenes(),
        abuse::scenes(),
        answers::scenes(),
        any_pod::scenes(),
        attach::scenes(),
        authorize_use::scenes(),
        block_rules::scenes(),
        certificates::scenes(),
        client_ca::scenes(),
        clocks::scenes(),
        cold::scenes(),
        contention::scenes(),
        crash::scenes(),
        delete::scenes(),
        edit::scenes(),
        explained::scenes(),
        failover::scenes(),
        faults::scenes(),
        flow_control::scenes(),
        foreign::scenes(),
        foreign_webhook::scenes(),
        from_zero::scenes(),
        ip_rules::scenes(),
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
        replay::scenes(),
        rights::scenes(),
        rollout::scenes(),
        room::scenes(),
        rules::scenes(),
        schema::scenes(),
        secrets::scenes(),
        stateful::scenes(),
        stolen::scenes(),
        stuck::scenes(),
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
    // A waiting scene costs a thread and nothing else; how many run at a time is decided by `stage`.
    arguments.test_threads.get_or_insert(256);
    stage::quiet_panics();
    let mut trials = trials();
    let name = |trial: &Trial| trial.name().to_owned();
    let mut played = faults::Played {
        all: trials.iter().map(name).collect(),
        ignored: trials
            .iter()
            .filter(|trial| trial.has_ignored_flag())
            .map(name)
            .collect(),
        whole: true,
    };
    if let Ok(only) = std::env::var("MOORING_E2E_ONLY") {
        trials.retain(|trial| {
            only.split_whitespace()
                .any(|part| trial.name().contains(part))
        });
        played.whole = false;
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let failed = conclusion.has_failed();
    replay::report();
    stage::report();
    world::end(failed);
    if failed || arguments.list {
        return conclusion.exit_code();
    }
    played.whole &= conclusion.num_filtered_out == 0;
    match faults::check(&played) {
        Ok(()) => conclusion.exit_code(),
        Err(message) => {
            eprintln!("tests/faults.toml:\n{message}");
            ExitCode::FAILURE
        }
    }
}
