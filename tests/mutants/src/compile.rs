//! Builds the copy of the tree, and finds the mutants that do not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::rewrite::{Rewritten, rewrite};
use crate::sources::Source;
use crate::tree;

const RUNTIME: &str = include_str!("runtime.rs");

/// The copy of the tree.
pub(crate) struct Tree {
    pub(crate) folder: PathBuf,
    pub(crate) target: PathBuf,
    /// One more than the highest number of a mutant.
    pub(crate) count: u32,
}

/// One error of the compiler.
#[derive(Debug)]
struct Failure {
    /// The places of the error, the most relevant one first.
    places: Vec<(String, Range<usize>)>,
    text: String,
}

impl Tree {
    /// Writes the sources with all mutants except `without`. `fixed` is the mutant that is switched on in constants.
    pub(crate) fn write(
        &self,
        sources: &[Source],
        without: &BTreeSet<u32>,
        fixed: u32,
    ) -> Result<BTreeMap<String, Rewritten>, Box<dyn Error>> {
        let mut written = BTreeMap::new();
        for source in sources {
            let mut new = rewrite(&source.text, &source.found, without);
            if source.path == "plan/src/lib.rs" {
                new.text.push_str("\nextern crate std;\nmod mutant;\n");
            }
            tree::write(&self.folder.join(&source.path), new.text.as_bytes())?;
            written.insert(source.path.clone(), new);
        }
        let runtime = RUNTIME
            .replace("FIXED: u32 = 0", &format!("FIXED: u32 = {fixed}"))
            .replace(
                "COUNT: usize = 1",
                &format!("COUNT: usize = {}", self.count),
            );
        tree::write(&self.folder.join("plan/src/mutant.rs"), runtime.as_bytes())?;
        Ok(written)
    }

    fn cargo(&self, arguments: &[&str]) -> Result<Vec<Value>, Box<dyn Error>> {
        let output = Command::new("cargo")
            .args(arguments)
            .args([
                "--package",
                "mooring-plan",
                "--message-format=json",
                "--quiet",
            ])
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", &self.target)
            // Ignore warnings, for example about code that is unused because of a mutant.
            .env("RUSTFLAGS", "--cap-lints=allow")
            .stderr(Stdio::inherit())
            .output()?;
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let messages = lines.lines().map(serde_json::from_str);
        Ok(messages.collect::<Result<_, _>>()?)
    }

    /// Removes mutants from the sources until they compile. Returns the mutants that do not compile.
    pub(crate) fn without_failures(
        &self,
        sources: &[Source],
    ) -> Result<BTreeSet<u32>, Box<dyn Error>> {
        let mut without = BTreeSet::new();
        loop {
            let written = self.write(sources, &without, 0)?;
            // The tests need features of the crate, so all features are checked.
            let messages = self.cargo(&["check", "--lib", "--all-features"])?;
            let failures: Vec<Failure> = messages.iter().filter_map(failure).collect();
            let blamed: BTreeSet<u32> = failures
                .iter()
                .flat_map(|failure| blamed(&written, failure))
                .collect();
            println!(
                "{} errors of the compiler, from {} mutants",
                failures.len(),
                blamed.len()
            );
            if failures.is_empty() {
                return Ok(without);
            }
            if blamed.is_empty() {
                let texts: String = failures.into_iter().map(|failure| failure.text).collect();
                return Err(format!("no mutant causes this:\n{texts}").into());
            }
            without.extend(blamed);
        }
    }

    /// Builds the tests, and returns their binaries; None: they do not compile.
    pub(crate) fn tests(&self) -> Result<Option<Vec<PathBuf>>, Box<dyn Error>> {
        let messages = self.cargo(&["test", "--no-run", "--lib", "--tests"])?;
        if messages.iter().any(|message| failure(message).is_some()) {
            return Ok(None);
        }
        let binaries = messages.iter().filter_map(|message| {
            let path = message.get("executable")?.as_str()?;
            Some(PathBuf::from(path))
        });
        Ok(Some(binaries.collect()))
    }

    /// Copies the binaries of a build, because the next build overwrites them.
    pub(crate) fn keep(&self, binaries: &[PathBuf]) -> Result<Vec<PathBuf>, Box<dyn Error>> {
        let folder = self.target.join("kept");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let mut kept = Vec::new();
        for binary in binaries {
            let to = folder.join(binary.file_name().unwrap_or_default());
            fs::copy(binary, &to)?;
            kept.push(to);
        }
        Ok(kept)
    }
}

/// The mutants that cause an error.
fn blamed(written: &BTreeMap<String, Rewritten>, failure: &Failure) -> Vec<u32> {
    let look = |find: fn(&Rewritten, &Range<usize>) -> Option<Vec<u32>>| {
        failure
            .places
            .iter()
            .find_map(|(file, range)| find(written.get(file)?, range))
    };
    let found = look(Rewritten::blamed).or_else(|| look(Rewritten::around));
    found.unwrap_or_default()
}

fn failure(message: &Value) -> Option<Failure> {
    let message = message.get("message")?;
    let spans = |of: &Value| of.get("spans").and_then(Value::as_array).cloned();
    if message.get("level")?.as_str()? != "error" {
        return None;
    }
    let mut places = Vec::new();
    for primary in [true, false] {
        for span in spans(message).unwrap_or_default() {
            if span.get("is_primary").and_then(Value::as_bool) == Some(primary) {
                places.extend(unfolded(&span));
            }
        }
    }
    let children = message.get("children").and_then(Value::as_array);
    for child in children.into_iter().flatten() {
        for span in spans(child).unwrap_or_default() {
            places.extend(unfolded(&span));
        }
    }
    let text = message.get("rendered").and_then(Value::as_str);
    // The last error has no place: it only counts the others.
    (!places.is_empty()).then(|| Failure {
        places,
        text: text.unwrap_or_default().to_owned(),
    })
}

/// The place, and the places of the macros that it is expanded from.
fn unfolded(span: &Value) -> Vec<(String, Range<usize>)> {
    let mut places = Vec::new();
    let mut next = Some(span);
    while let Some(span) = next {
        let number = |key| {
            span.get(key)
                .and_then(Value::as_u64)
                .and_then(|at| usize::try_from(at).ok())
        };
        let file = span.get("file_name").and_then(Value::as_str);
        if let (Some(file), Some(start), Some(end)) =
            (file, number("byte_start"), number("byte_end"))
        {
            places.push((file.to_owned(), start..end));
        }
        next = span
            .get("expansion")
            .and_then(|expansion| expansion.get("span"));
    }
    places
}
