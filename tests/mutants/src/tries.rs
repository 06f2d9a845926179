//! Tries each mutant with the tests that reach it.

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::progress::Progress;
use crate::tests::{Said, Test};

/// What came of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Caught,
    Missed,
    /// No test fails, and in one it does not come to an end.
    Hangs,
}

/// So many tests may wait for a mutant that hangs.
const HANGS: usize = 2;
/// So many tests are remembered that caught the last mutants of a file.
const REMEMBERED: usize = 4;

/// A mutant to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried<'a> {
    pub(crate) id: u32,
    pub(crate) file: &'a str,
    pub(crate) name: &'a str,
    /// It is in a constant, which no test is seen to reach.
    pub(crate) everywhere: bool,
}

/// What the workers share.
struct Shared<'a> {
    waiting: VecDeque<Tried<'a>>,
    verdicts: BTreeMap<u32, Verdict>,
    /// By file, the tests that caught the last mutants: they are asked first.
    catchers: BTreeMap<&'a str, VecDeque<usize>>,
    progress: Progress,
    failure: Option<String>,
}

/// Tries the mutants, with a limit of parallel runs. `tests` are the quickest first.
pub(crate) fn all(
    mutants: &[Tried<'_>],
    tests: &[Test],
    at_once: usize,
) -> Result<BTreeMap<u32, Verdict>, Box<dyn Error>> {
    let shared = Mutex::new(Shared {
        waiting: mutants.iter().copied().collect(),
        verdicts: BTreeMap::new(),
        catchers: BTreeMap::new(),
        progress: Progress::of(mutants.len(), "mutants tried"),
        failure: None,
    });
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| work(&shared, tests));
        }
    });
    let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    match shared.failure {
        Some(why) => Err(why.into()),
        None => Ok(shared.verdicts),
    }
}

fn work(shared: &Mutex<Shared<'_>>, tests: &[Test]) {
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let (mutant, first) = {
            let mut shared = lock();
            let Some(mutant) = shared
                .waiting
                .pop_front()
                .filter(|_| shared.failure.is_none())
            else {
                return;
            };
            let first = shared.catchers.get(mutant.file).cloned();
            (mutant, first.unwrap_or_default())
        };
        let tried = verdict(mutant, &first, tests);
        let mut shared = lock();
        match tried {
            Err(why) => shared.failure = Some(why.to_string()),
            Ok((verdict, by)) => {
                if verdict != Verdict::Caught {
                    println!("survives: {}: {}", mutant.file, mutant.name);
                }
                shared.verdicts.insert(mutant.id, verdict);
                if let Some(by) = by {
                    let catchers = shared.catchers.entry(mutant.file).or_default();
                    catchers.retain(|other| *other != by);
                    catchers.push_front(by);
                    catchers.truncate(REMEMBERED);
                }
                let survive = shared.verdicts.values();
                let survive = survive
                    .filter(|verdict| **verdict != Verdict::Caught)
                    .count();
                shared.progress.step(&format!(", {survive} survive"));
            }
        }
    }
}

/// What comes of the mutant, and which test caught it.
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

/// Notes what each test reaches; the quickest is first then.
pub(crate) fn record(
    tests: &mut Vec<Test>,
    folder: &std::path::Path,
    at_once: usize,
) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let progress = Mutex::new(Progress::of(tests.len(), "tests recorded"));
    let waiting = Mutex::new(std::mem::take(tests));
    let done = Mutex::new(Vec::new());
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for worker in 0..at_once {
            let file = folder.join(format!("reached-{worker}"));
            let (progress, waiting, done, failed) = (&progress, &waiting, &done, &failed);
            scope.spawn(move || {
                let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
                while let Some(mut test) = next() {
                    if let Err(why) = test.record(&file) {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        *failed = Some(why.to_string());
                        return;
                    }
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(test);
                    progress
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .step("");
                }
            });
        }
    });
    if let Some(why) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(why.into());
    }
    *tests = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    tests.sort_by(|a, b| (a.took, &a.name).cmp(&(b.took, &b.name)));
    let total: Duration = tests.iter().map(|test| test.took).sum();
    println!(
        "{} tests, {:.1} s of work",
        tests.len(),
        total.as_secs_f64()
    );
    Ok(())
}
