//! The limits of a process, and the memory that it takes.

use mooring_cluster::Mooring;

/// Limits the number of open files of a process.
pub fn limit_open_files(process: u32, limit: &str) {
    let (process, limit) = (process.to_string(), format!("--nofile={limit}"));
    let ended = std::process::Command::new("prlimit")
        .args(["--pid", &process, &limit])
        .status();
    assert!(ended.expect("prlimit can be run").success());
}

/// The argument for prlimit that raises the soft limit of open files of this process to its hard limit.
pub fn most_open_files() -> String {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("proc(5)");
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let hard = line.expect("a limit").split_whitespace().nth(4);
    format!("{}:", hard.expect("proc(5): soft limit, hard limit, unit"))
}

/// The peak of the resident memory, in bytes (proc(5), `VmHWM`).
pub fn peak_memory(mooring: &Mooring) -> usize {
    let status = format!("/proc/{}/status", mooring.process().pid());
    let status = std::fs::read_to_string(status).expect("Mooring runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.expect("proc(5)").trim().trim_end_matches(" kB");
    kilobytes.parse::<usize>().expect("a number") << 10
}
