//! Runs a seed in a new process: the seeds of hashers, the names of threads and the states of generators do not
//! depend on other seeds.

use std::process::{Command, Stdio};

use mooring_simulation::scenarios::Scenario;

use crate::determinism::Outcome;

/// The settings of the allocator. They have no influence on the result of a seed.
const ALLOCATOR: &str = "glibc.malloc.tcache_count=2000:glibc.malloc.top_pad=67108864:\
    glibc.malloc.trim_threshold=1073741824:glibc.malloc.hugetlb=1";

/// The output of a process.
#[derive(Clone, Debug)]
pub struct Child {
    /// The first line.
    pub outcome: Outcome,
    /// The other lines.
    pub trace: String,
}

/// Runs a seed in a separate process.
///
/// # Errors
/// The process printed no outcome.
pub fn run(scenario: Scenario, seed: u64, traced: bool) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .args(["--child", "--seed", &seed.to_string()])
        .args(["--scenario", super::name(scenario)])
        .env_clear()
        // A seed is short and allocates often: the allocator keeps freed memory.
        .env("GLIBC_TUNABLES", ALLOCATOR)
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    if traced {
        command.arg("--trace");
    }
    let output = command.output().map_err(|error| error.to_string())?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let (first, trace) = stdout.split_once('\n').unwrap_or((&stdout, ""));
    let outcome = serde_json::from_str(first).map_err(|_| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("its process ended with {}: {first}{errors}", output.status)
    })?;
    Ok(Child {
        outcome,
        trace: trace.to_owned(),
    })
}
