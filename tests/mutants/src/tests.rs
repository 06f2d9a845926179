//! Runs the tests of `plan`, each in a separate process: finds the mutants that a test reaches, and its result for a
//! mutant.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A test with a mutant that takes this many times as long, and at least ten seconds, counts as hung.
const HANG_FACTOR: u32 = 20;
/// The memory limit in KiB. A test that exceeds it counts as hung.
const MEMORY: u32 = 4 * 1024 * 1024;

/// One test.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) binary: PathBuf,
    pub(crate) name: String,
    pub(crate) took: Duration,
    /// The mutants whose places the test reaches.
    pub(crate) reaches: BTreeSet<u32>,
}

/// The result of a test with a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Passed,
    Failed,
    Hung,
}

/// All tests of these binaries.
pub(crate) fn listed(binaries: &[PathBuf]) -> Result<Vec<Test>, Box<dyn Error>> {
    let mut tests = Vec::new();
    for binary in binaries {
        let output = Command::new(binary)
            .args(["--list", "--format", "terse"])
            .output()?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            if let Some(name) = line.strip_suffix(": test") {
                tests.push(Test {
                    binary: binary.clone(),
                    name: name.to_owned(),
                    took: Duration::ZERO,
                    reaches: BTreeSet::new(),
                });
            }
        }
    }
    Ok(tests)
}

impl Test {
    /// Runs the test, and kills it when the time limit is over.
    fn run(&self, limit: Duration, key: &str, value: &str) -> Result<Output, Box<dyn Error>> {
        let limits = format!(
            "ulimit -v {MEMORY}; exec timeout --foreground --signal=KILL {} \"$@\"",
            limit.as_secs()
        );
        let output = Command::new("sh")
            .args(["-c", &limits, "sh"])
            .arg(&self.binary)
            .args(["--exact", &self.name, "--test-threads=1"])
            // The same few cases in each run. A mutant that only a rare case finds does not count as caught.
            .env("PROPTEST_CASES", "30")
            .env("PROPTEST_RNG_SEED", "1")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
            .env(key, value)
            .output()?;
        Ok(output)
    }

    /// Runs the test without a mutant, and records the mutants that it reaches.
    pub(crate) fn record(&mut self, file: &Path) -> Result<(), Box<dyn Error>> {
        let _ = fs::remove_file(file);
        let begun = Instant::now();
        let path = file.to_string_lossy();
        let output = self.run(Duration::from_mins(10), "MOORING_MUTANTS_REACHED", &path)?;
        self.took = begun.elapsed();
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            return Err(format!("{} fails without any mutant:\n{text}", self.name).into());
        }
        let reached = fs::read(file).unwrap_or_default();
        let (ids, _) = reached.as_chunks();
        self.reaches = ids.iter().map(|id| u32::from_le_bytes(*id)).collect();
        Ok(())
    }

    /// Runs the test with the mutant.
    pub(crate) fn tries(&self, mutant: u32) -> Result<Said, Box<dyn Error>> {
        let limit = Duration::from_secs(10).max(self.took * HANG_FACTOR);
        let output = self.run(limit, "MOORING_MUTANT", &mutant.to_string())?;
        let killed = output.status.signal() == Some(9) || output.status.code() == Some(137);
        let starved = String::from_utf8_lossy(&output.stderr).contains("memory allocation of");
        Ok(if killed || starved {
            Said::Hung
        } else if output.status.success() {
            Said::Passed
        } else {
            Said::Failed
        })
    }
}
