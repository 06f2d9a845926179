//! What is shown of a run, in seconds.

use std::time::Duration;

use crate::run::Run;

/// Times from the event of a pod, which is the end of the pod before it, to the record that its address is attached.
pub struct Figures {
    /// From the first event to the last record, in any cluster.
    pub took: f64,
    pub median: f64,
    /// The 99th percentile.
    pub late: f64,
    /// The longest of the cluster that was served best.
    pub first_cluster: f64,
    /// The longest of the cluster that was served worst.
    pub last_cluster: f64,
}

impl Figures {
    pub fn of(run: &Run) -> Self {
        let clusters = run.times();
        let longest = clusters.iter().filter_map(|times| times.iter().max());
        let (first, last) = (longest.clone().min(), longest.max());
        let mut all: Vec<Duration> = clusters.iter().flatten().copied().collect();
        all.sort_unstable();
        let at = |percent: usize| all[(all.len() - 1) * percent / 100].as_secs_f64();
        Self {
            took: run.took().as_secs_f64(),
            median: at(50),
            late: at(99),
            first_cluster: first.unwrap().as_secs_f64(),
            last_cluster: last.unwrap().as_secs_f64(),
        }
    }
}
