//! How fast and how small Mooring is: the real API server, and EC2 that answers after 20 ms with its real token
//! buckets.
//!
//! Listed only with `MOORING_BENCH=quick` or `=full`, which `make bench` sets; times mean something only on a machine that
//! does nothing else. Counts are asserted, times are shown.

mod cluster;
mod figures;
mod phases;
mod review_load;
mod timeline;

use libtest_mimic::Trial;
use mooring_cluster::ClusterOptions;

use crate::harness::runner::alone_in;
use crate::harness::scene::Scene;
use cluster::Bench;
pub use figures::report;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Quick,
    Full,
}

fn extent() -> Option<Extent> {
    match std::env::var("MOORING_BENCH").ok()?.as_str() {
        "quick" => Some(Extent::Quick),
        "full" => Some(Extent::Full),
        other => panic!("MOORING_BENCH is quick or full, not {other:?}"),
    }
}

pub fn scenes() -> Vec<Trial> {
    if extent().is_none() {
        return Vec::new();
    }
    vec![alone_in(
        "e2e::bench::figures",
        control_plane_as_shipped,
        figures_of_a_cluster,
    )]
}

/// With Go's own garbage collection, as others measure.
fn control_plane_as_shipped() -> ClusterOptions {
    ClusterOptions {
        heap_growth: 100,
        ..ClusterOptions::default()
    }
}

/// One after the other in one cluster: what is measured has the machine for itself.
async fn figures_of_a_cluster(scene: &Scene) {
    let Some(extent) = extent() else { return };
    let sizes: &[usize] = match extent {
        Extent::Quick => &[500],
        Extent::Full => &[500, 1000, 2000],
    };
    let largest = sizes.last().copied().unwrap_or_default();
    let mut bench = Bench::new(scene, phases::nodes(largest)).await;
    phases::memory_without_ips(&bench);
    phases::single_attaches(&mut bench).await;
    phases::attaches_at_once(&mut bench).await;
    phases::drain(&mut bench).await;
    phases::at_rest(&mut bench).await;
    for ips in sizes {
        phases::grown(&mut bench, *ips).await;
    }
    phases::successor(&mut bench).await;
    review_load::webhook(&mut bench).await;
}
