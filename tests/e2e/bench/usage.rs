//! The memory and the CPU time of the measured process.

use super::cluster::Bench;
use super::figures::Figure;

impl Bench<'_> {
    /// The resident memory of the measured process, in MiB.
    pub fn memory(&self) -> f64 {
        let pid = self.mooring.process().pid();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        kib.expect("a process has memory") / 1024.0
    }

    /// The CPU time of the measured process, in seconds.
    pub fn cpu(&self) -> f64 {
        let pid = self.mooring.process().pid();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        let (_, after) = stat.rsplit_once(')').expect("it has a name");
        let fields: Vec<&str> = after.split_whitespace().collect();
        // Fields 14 and 15 of proc(5), in hundredths of a second.
        let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
        (ticks(11) + ticks(12)) / 100.0
    }

    /// Adds the memory before a load and after it as a figure.
    pub fn memory_around(&self, key: &str, load: &str, before: f64) {
        let after = self.memory();
        Figure::new(
            &format!("memory-{key}"),
            &format!("memory before and after {load}"),
        )
        .is(format!("{before:.0} / {after:.0} MiB"));
    }
}
