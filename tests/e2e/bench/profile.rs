//! CPU profiles: `perf` samples the measured process during single attaches, a burst of attaches, and reviews.
//! `.ci/profile` makes flame graphs from the samples.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mooring_cluster::Process;

use super::Extent;
use super::cluster::{Bench, SIDE};
use super::{growth, review_load};
use crate::harness::scene::Scene;

/// The number of attaches one after the other.
const SINGLE: usize = 200;
/// The number of attaches at the same time.
const BURST: usize = 256;
/// The time for which reviews are sent.
const REVIEWS: Duration = Duration::from_secs(5);
/// Samples per second of CPU time. It is a prime number, so that no timer of the process is synchronous with it.
const SAMPLES: u32 = 1999;

/// Runs the three phases. Each has its own file of `perf`.
pub async fn phases(scene: &Scene) {
    let bench = &mut Bench::new(scene, growth::nodes(Extent::Quick)).await;
    // Without throttling, because the wait after a throttled call uses no CPU time.
    bench.without_buckets().await;
    let ips = bench.more_ips(SINGLE).await;
    bench.quiet().await;
    let perf = Perf::start(bench, "attach");
    bench.one_by_one("single", ips).await;
    perf.end().await;

    let ips = bench.more_ips(BURST).await;
    bench.quiet().await;
    let perf = Perf::start(bench, "burst");
    bench.pods("burst", ips, &(SIDE..3 * SIDE)).await;
    bench.attached("burst", BURST).await;
    perf.end().await;

    let perf = Perf::start(bench, "admission");
    review_load::mutating(bench, REVIEWS).await;
    perf.end().await;
    scene.judge().await;
    bench.leave_all();
}

/// `perf record` of the measured process.
struct Perf {
    process: Process,
    file: PathBuf,
}

impl Perf {
    fn start(bench: &Bench<'_>, phase: &str) -> Self {
        let folder = mooring_cluster::repository().join("target/bench");
        std::fs::create_dir_all(&folder).expect("target can be written");
        let file = folder.join(format!("{phase}.perf"));
        let (pid, samples) = (bench.mooring.process().pid(), SAMPLES);
        // The release binary has no frame pointers, so `perf` copies the stacks and unwinds them later.
        let arguments = format!(
            "record --event cpu-clock --freq {samples} --call-graph dwarf,16384 --pid {pid} --output {}",
            file.display()
        );
        let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        let name = format!("perf-{phase}");
        let process = Process::start(&name, Path::new("perf"), &arguments, &[], &folder);
        Self { process, file }
    }

    /// Ends `perf`, which then writes its samples.
    async fn end(self) {
        self.process.signal("INT");
        self.process.end(Duration::from_mins(1)).await;
        let size = std::fs::metadata(&self.file).map_or(0, |file| file.len());
        assert!(size > 0, "perf wrote nothing: {}", self.process.log());
        println!("verified: {}: {size} bytes of samples", self.file.display());
    }
}
