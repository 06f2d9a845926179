//! Real time, read from files of the system, because the clocks of this program show simulated time.

use std::fs::read_to_string;

/// Ticks per second in these files (proc(5): always 100 for programs).
const TICKS: f64 = 100.0;

/// Seconds since the machine started.
pub fn real() -> f64 {
    let uptime = read_to_string("/proc/uptime").unwrap_or_default();
    let first = uptime.split_whitespace().next();
    first.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Seconds of CPU time of the children of this process.
pub fn cpu() -> f64 {
    let stat = read_to_string("/proc/self/stat").unwrap_or_default();
    // The name may have spaces, and ends with the last bracket; cutime and cstime are fields 16 and 17.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(13).take(2);
    ticks
        .filter_map(|text| text.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS
}
