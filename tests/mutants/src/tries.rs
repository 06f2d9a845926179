//! Tries each mutant with the tests that reach it.

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use crate::parallel::{each, locked};
use crate::progress::Progress;
use crate::tests::{Said, Test};

/// The verdict on a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Caught,
    Missed,
    /// No test fails, and at least one does not end.
    Hangs,
}

/// The number of hung tests after which no more tests are tried. Tests come in the order of their times, which differs
/// from run to run, so several may hang before the one that fails.
const HANGS: usize = 8;
/// The number of tests that are remembered because they caught the last mutants of a file.
const REMEMBERED: usize = 4;

/// A mutant to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried<'a> {
    pub(crate) id: u32,
    pub(crate) file: &'a str,
    pub(crate) name: &'a str,
    /// True for a mutant in a constant: no test is recorded as reaching it, so all tests are tried.
    pub(crate) everywhere: bool,
}

/// The state that the tries of all mutants share.
struct Shared<'a> {
    /// By file, the tests that caught the last mutants. They are tried first.
    catchers: BTreeMap<&'a str, VecDeque<usize>>,
    survive: usize,
    progress: Progress,
}

/// Tries the mutants, `at_once` at a time. `tests` are sorted from fast to slow.
pub(crate) fn all(
    mutants: &[Tried<'_>],
    tests: &[Test],
    at_once: usize,
) -> Result<BTreeMap<u32, Verdict>, Box<dyn Error>> {
    let shared = Mutex::new(Shared {
        catchers: BTreeMap::new(),
        survive: 0,
        progress: Progress::of(mutants.len(), "mutants tried"),
    });
    let verdicts = each(mutants.iter().copied(), at_once, |_, mutant| {
        let first = locked(&shared).catchers.get(mutant.file).cloned();
        let (verdict, by) = verdict(mutant, &first.unwrap_or_default(), tests)?;
        let mut shared = locked(&shared);
        if verdict != Verdict::Caught {
            println!("survives: {}: {}", mutant.file, mutant.name);
            shared.survive += 1;
        }
        if let Some(by) = by {
            let catchers = shared.catchers.entry(mutant.file).or_default();
            catchers.retain(|other| *other != by);
            catchers.push_front(by);
            catchers.truncate(REMEMBERED);
        }
        let survive = shared.survive;
        shared.progress.step(&format!(", {survive} survive"));
        Ok((mutant.id, verdict))
    });
    Ok(verdicts?.into_iter().collect())
}

/// The verdict on the mutant, and the test that caught it.
fn verdict(
    mutant: Tried<'_>,
    first: &VecDeque<usize>,
    tests: &[Test],
) -> Result<(Verdict, Option<usize>), Box<dyn Error>> {
    let mut hangs = 0;
    let others = (0..tests.len()).filter(|index| !first.contains(index));
    for index in first.iter().copied().chain(others) {
        let Some(test) = tests.get(index) else {
            continue;
        };
        if !mutant.everywhere && !test.reaches.contains(&mutant.id) {
            continue;
        }
        match test.tries(mutant.id)? {
            Said::Passed => {}
            Said::Failed => return Ok((Verdict::Caught, Some(index))),
            Said::Hung => hangs += 1,
        }
        if hangs >= HANGS {
            break;
        }
    }
    let verdict = if hangs > 0 {
        Verdict::Hangs
    } else {
        Verdict::Missed
    };
    Ok((verdict, None))
}

/// Records the mutants that each test reaches, and sorts the tests from fast to slow.
pub(crate) fn record(
    tests: &mut Vec<Test>,
    folder: &Path,
    at_once: usize,
) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let progress = Mutex::new(Progress::of(tests.len(), "tests recorded"));
    *tests = each(std::mem::take(tests), at_once, |worker, mut test| {
        test.record(&folder.join(format!("reached-{worker}")))?;
        locked(&progress).step("");
        Ok(test)
    })?;
    tests.sort_by(|a, b| (a.took, &a.name).cmp(&(b.took, &b.name)));
    let total: Duration = tests.iter().map(|test| test.took).sum();
    println!(
        "{} tests, {:.1} s of work",
        tests.len(),
        total.as_secs_f64()
    );
    Ok(())
}
