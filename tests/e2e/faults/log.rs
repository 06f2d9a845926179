//! Reads the log of `make test-fast`: every test that ran in the other test binaries.

use std::path::Path;
use std::time::SystemTime;

use mooring_cluster::target;

use super::named::Test;

/// The tests with their results, and the time of the log.
pub struct Log {
    tests: Vec<Ran>,
    written: SystemTime,
}

struct Ran {
    /// The name of the crate and the root of the binary.
    binary: (String, String),
    name: String,
    result: String,
}

impl Log {
    /// Reads the log of the last `make test-fast`.
    pub fn read() -> Result<Self, String> {
        let path = target().join("test-fast.log");
        let unreadable = |error: std::io::Error| {
            format!(
                "{}: {error}: `make test-fast` writes down what ran",
                path.display()
            )
        };
        let text = std::fs::read_to_string(&path).map_err(unreadable)?;
        let written = path
            .metadata()
            .and_then(|data| data.modified())
            .map_err(unreadable)?;
        Ok(Self {
            written,
            ..Self::of(&text)
        })
    }

    /// Parses the output of cargo.
    pub fn of(text: &str) -> Self {
        let mut binary = (String::new(), String::new());
        let mut tests = Vec::new();
        for line in text.lines() {
            let line = line.trim_start();
            if let Some(running) = line.strip_prefix("Running ") {
                binary = read_binary(running).unwrap_or_default();
            } else if let Some((name, result)) = line
                .strip_prefix("test ")
                .and_then(|test| test.rsplit_once(" ... "))
            {
                tests.push(Ran {
                    binary: binary.clone(),
                    name: name.trim_end_matches(" - should panic").to_owned(),
                    result: result.trim().to_owned(),
                });
            }
        }
        Self {
            tests,
            written: SystemTime::now(),
        }
    }

    /// Was the file changed after the log?
    pub fn is_older_than(&self, file: &Path) -> Result<bool, String> {
        let changed = file.metadata().and_then(|data| data.modified());
        changed
            .map(|changed| changed > self.written)
            .map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Did this promise of `tests/node` run and pass, with each kind of rules?
    pub fn node_ran(&self, promise: &str) -> Result<(), String> {
        let of_node = self.tests.iter().filter(|ran| ran.binary.0 == "node");
        let is_it = |ran: &&Ran| ran.name.split("::").next() == Some(promise);
        let found: Vec<&Ran> = of_node.filter(is_it).collect();
        match found.iter().find(|ran| ran.result != "ok") {
            Some(ran) => Err(format!("ended with {}", ran.result)),
            None if found.is_empty() => Err("did not run".to_owned()),
            None => Ok(()),
        }
    }

    /// Did the test run once and pass?
    pub fn ran_once(&self, test: &Test) -> Result<(), String> {
        let is_it = |ran: &&Ran| ran.binary == test.binary && test.is_called(&ran.name);
        let found: Vec<&Ran> = self.tests.iter().filter(is_it).collect();
        match found.as_slice() {
            [] => Err("did not run".to_owned()),
            [ran] if ran.result == "ok" => Ok(()),
            [ran] if ran.result.starts_with("ignored") => Err("is ignored".to_owned()),
            [ran] => Err(format!("ended with {}", ran.result)),
            more => Err(format!("ran {} times", more.len())),
        }
    }
}

/// `tests/drift.rs (target/debug/deps/drift-0123456789abcdef)`, before it `unittests` for a library.
fn read_binary(running: &str) -> Option<(String, String)> {
    let (root, path) = running.rsplit_once(" (")?;
    let root = root.trim_start_matches("unittests ").to_owned();
    let file = path.trim_end_matches(')').rsplit('/').next()?;
    let (name, _) = file.rsplit_once('-')?;
    Some((name.to_owned(), root))
}
