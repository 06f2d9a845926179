//! `mooring-mutants [FILE...]`: changes `plan` in one place at a time, and fails unless its tests notice.
//!
//! All changes (mutants) are in one build, and an environment variable switches one of them on. A mutant is tried with
//! the tests that reach its place, until one fails. Every surviving mutant must be listed in `plan/tests/survivors.txt`
//! with a reason, and no other mutant.

mod compile;
mod constants;
mod discover;
mod operators;
mod parallel;
mod progress;
mod report;
mod rewrite;
mod site;
mod sources;
mod survivors;
mod tests;
mod tree;
mod tries;
mod values;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use compile::Tree;
use report::Outcomes;
use site::Asked;
use tests::Test;
use tries::Tried;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    match run(&files) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("mutants: {why}");
            ExitCode::from(2)
        }
    }
}

fn run(files: &[String]) -> Result<bool, Box<dyn Error>> {
    let root = std::env::current_dir()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let work = root.join(target).join("mutants");
    let at_once = std::env::var("MUTANTS_JOBS").ok();
    let at_once = at_once.map_or(Ok(2), |jobs| jobs.parse())?;

    let folder = work.join("tree");
    let mut sources = sources::sources(&root, &folder)?;
    for file in files {
        if !sources.iter().any(|source| source.path == *file) {
            return Err(format!("there is no {file}").into());
        }
    }
    let count = sources.last().map_or(1, |last| last.found.next);
    let tree = Tree {
        folder,
        target: work.join("target"),
        count,
    };
    println!("{} mutants of plan; building those that compile", count - 1);
    let without = tree.without_failures(&sources)?;
    println!("building the tests");
    let Some(built) = tree.tests()? else {
        return Err("the tests do not compile".into());
    };
    let mut tests = tests::listed(&tree.keep(&built)?)?;
    tries::record(&mut tests, &work, at_once)?;

    let (mut plain, mut constants) = (Vec::new(), Vec::new());
    for source in &sources {
        if !files.is_empty() && !files.contains(&source.path) {
            continue;
        }
        for (site, mutant) in source.mutants().filter(|(_, it)| !without.contains(&it.id)) {
            let tried = |everywhere| Tried {
                id: mutant.id,
                file: &source.path,
                name: &mutant.name,
                everywhere,
            };
            match site.asked {
                Asked::AtRunTime => plain.push(tried(false)),
                Asked::WhenCompiled => constants.push(tried(true)),
            }
        }
    }
    let mut verdicts = tries::all(&plain, &tests, at_once)?;
    for (index, constant) in constants.iter().enumerate() {
        println!(
            "constant {} of {}: it is built apart",
            index + 1,
            constants.len()
        );
        tree.write(&sources, &without, constant.id)?;
        if let Some(built) = tree.tests()? {
            let moved = moved(&tests, &built);
            verdicts.extend(tries::all(&[*constant], &moved, at_once)?);
        }
    }
    sources.retain(|source| files.is_empty() || files.contains(&source.path));
    let outcomes = Outcomes {
        sources: &sources,
        verdicts: &verdicts,
        files,
    };
    outcomes.report(&root, &work)
}

/// The same tests in the binaries of another build.
fn moved(tests: &[Test], built: &[PathBuf]) -> Vec<Test> {
    let other = |old: &Path| built.iter().find(|new| new.file_name() == old.file_name());
    let mut moved = tests.to_vec();
    for test in &mut moved {
        if let Some(binary) = other(&test.binary) {
            test.binary.clone_from(binary);
        }
    }
    moved
}
