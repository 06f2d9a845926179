//! Benchmarks of time and memory: the real API server, and EC2 with 20 ms latency and its real token buckets.
//!
//! Listed only with `MOORING_BENCH=quick` or `=full`, which `make bench` sets, or `=profile`, which `.ci/profile` sets.
//! Times are meaningful only on an otherwise idle machine. Counts are asserted, times are only shown.

mod attaches;
mod calls_svg;
mod cluster;
mod counted;
mod drain;
mod failover;
mod figures;
mod growth;
mod machine;
mod moves;
mod null_handler;
mod plain_pods;
mod plot;
mod profile;
mod report;
mod reservations;
mod rest;
mod restart;
mod review_load;
mod single_addresses;
mod successor;
mod timeline;
mod usage;

use std::time::Instant;

use libtest_mimic::Trial;
use mooring_cluster::ClusterOptions;

use crate::harness::runner::alone_in;
use crate::harness::scene::Scene;
use cluster::Bench;
use drain::{Buckets, MovingIps};
pub use report::report;

/// The extent of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Quick,
    Full,
}

pub fn scenes() -> Vec<Trial> {
    let figures = |extent| {
        alone_in("e2e::bench::figures", options, async move |scene| {
            figures_of_a_cluster(scene, extent).await;
        })
    };
    let trial = match std::env::var("MOORING_BENCH").as_deref() {
        Ok("quick") => figures(Extent::Quick),
        Ok("full") => figures(Extent::Full),
        Ok("profile") => alone_in("e2e::bench::profile", options, profile::phases),
        Ok(other) => panic!("MOORING_BENCH is quick, full or profile, not {other:?}"),
        Err(_) => return Vec::new(),
    };
    vec![trial]
}

/// The audit log contains only the bodies that are measured or judged: all bodies of thousands of pods are gigabytes.
fn options() -> ClusterOptions {
    let policy = mooring_cluster::repository().join("tests/e2e/bench/audit-policy.yaml");
    let flag = format!("--audit-policy-file={}", policy.display());
    ClusterOptions {
        api_server_flags: vec![flag],
        // The default garbage collection of Go (GOGC=100), so that figures compare with those of others.
        heap_growth: 100,
        ..ClusterOptions::default()
    }
}

/// Prints the begin of each phase with the time.
struct Progress(Instant);

impl Progress {
    fn begins(&self, phase: &str) {
        println!("bench: {:4.0} s: {phase}", self.0.elapsed().as_secs_f64());
    }
}

/// Runs all phases one after the other in one cluster, so that nothing else uses the machine.
async fn figures_of_a_cluster(scene: &Scene, extent: Extent) {
    let progress = Progress(Instant::now());
    progress.begins("nodes");
    let mut bench = Bench::new(scene, growth::nodes(extent)).await;
    let bench = &mut bench;
    growth::without_ips(bench);

    progress.begins("growth to 10 IPs, attaches");
    growth::grown(bench, 10).await;
    attaches::single(bench).await;
    attaches::at_once(bench, Buckets::Full).await;
    for ips in growth::sizes(extent) {
        progress.begins(&format!("growth to {ips} IPs"));
        growth::grown(bench, *ips).await;
        if *ips == 500 {
            progress.begins("successor");
            successor::successor(bench).await;
        }
    }
    progress.begins("at rest");
    rest::at_rest(bench, extent).await;
    progress.begins("a move right after a restart");
    restart::then_a_move(bench).await;
    progress.begins("single moves");
    moves::single(bench).await;

    progress.begins("256 moves that wait for the leader");
    let mut moving = MovingIps::new(bench).await;
    drain::waiting(bench, &mut moving, Buckets::Full).await;
    progress.begins("256 moves, 100 a second");
    moves::in_sequence(bench, &mut moving, Buckets::Full).await;
    if extent == Extent::Full {
        progress.begins("the same from empty buckets");
        attaches::at_once(bench, Buckets::Empty).await;
        moves::in_sequence(bench, &mut moving, Buckets::Empty).await;
        drain::waiting(bench, &mut moving, Buckets::Empty).await;
    }
    progress.begins("IPs reserved at once");
    reservations::at_once(bench, extent).await;
    progress.begins("failover");
    failover::of_a_deployment(bench).await;
    progress.begins("webhook");
    review_load::webhook(bench, extent).await;
    progress.begins("the judge reads the histories");
    scene.judge().await;
    // The judge compares each call with the whole history, so the many thousand later calls are not judged.
    bench.leave_all();
    if extent == Extent::Full {
        large(bench, &progress).await;
    }
    growth::expect_linear();
    figures::Figure::new("length", "all phases of the benchmark")
        .goal(match extent {
            Extent::Full => "25 min",
            Extent::Quick => "3 min",
        })
        .is(format!(
            "{:.1} min",
            progress.0.elapsed().as_secs_f64() / 60.0
        ));
    figures::end();
}

/// The phases that take minutes.
async fn large(bench: &mut Bench<'_>, progress: &Progress) {
    progress.begins("256 moves, each to an interface of its own");
    single_addresses::moves(bench).await;
    for ips in growth::LARGE {
        progress.begins(&format!("growth to {ips} IPs"));
        growth::grown(bench, ips).await;
        progress.begins("successor");
        successor::successor(bench).await;
    }
    progress.begins("at rest");
    rest::at_rest(bench, Extent::Full).await;
    progress.begins("100,000 pods without an annotation");
    plain_pods::memory(bench).await;
    bench.leave_all();
}
