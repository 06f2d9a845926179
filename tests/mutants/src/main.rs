//! `mooring-mutants [FILE...]`: changes `plan` in one place at a time, and fails unless its tests notice.
//!
//! All changes (mutants) are in one build, and an environment variable says which of them is switched on. A mutant
//! is tried with the tests that come by its place, until one fails. What survives has to stand in
//! `plan/tests/survivors.txt` with a reason, and nothing else may.

mod compile;
mod constants;
mod discover;
mod operators;
mod progress;
mod rewrite;
mod site;
mod survivors;
mod tests;
mod tree;
mod tries;
mod values;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use compile::{Source, Tree};
use site::{Asked, Mutant, Site};
use tests::Test;
use tries::{Tried, Verdict};

const SURVIVORS: &str = "plan/tests/survivors.txt";
/// At least this share of the mutants that compile has to be noticed.
const LEAST_PERCENT: usize = 95;

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
    if !compile::is_workspace(&root) {
        return Err("this is not the folder of the workspace".into());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let work = root.join(target).join("mutants");
    let at_once = std::env::var("MUTANTS_JOBS").ok();
    let at_once = at_once.map_or(Ok(2), |jobs| jobs.parse())?;

    let (sources, count) = sources(&root, &work.join("tree"))?;
    for file in files {
        if !sources.iter().any(|source| source.path == *file) {
            return Err(format!("there is no {file} with anything to change").into());
        }
    }
    let tree = Tree {
        folder: work.join("tree"),
        target: work.join("target"),
        count,
    };
    println!("{} mutants; building those that compile", count - 1);
    let without = tree.without_failures(&sources)?;
    println!("building the tests");
    let Some(built) = tree.tests()? else {
        return Err("the tests do not compile".into());
    };
    let built = tree.keep(&built)?;
    let mut tests = tests::listed(&built)?;
    tries::record(&mut tests, &work, at_once)?;

    let wanted = |source: &&Source| files.is_empty() || files.contains(&source.path);
    let mut tried = Vec::new();
    let mut constants = Vec::new();
    for source in sources.iter().filter(wanted) {
        for (site, mutant) in mutants(source) {
            let is = Tried {
                id: mutant.id,
                file: &source.path,
                everywhere: site.asked == Asked::WhenCompiled,
            };
            if without.contains(&mutant.id) {
            } else if is.everywhere {
                constants.push(is);
            } else {
                tried.push(is);
            }
        }
    }
    let mut verdicts = tries::all(&tried, &tests, at_once)?;
    println!(
        "{} mutants of constants, each with a build of its own",
        constants.len()
    );
    for (index, mutant) in constants.iter().enumerate() {
        println!("constant {} of {}", index + 1, constants.len());
        tree.write(&sources, &without, mutant.id)?;
        let Some(built) = tree.tests()? else {
            continue;
        };
        let moved = moved(&tests, &built);
        verdicts.extend(tries::all(&[*mutant], &moved, at_once)?);
    }
    let all: Vec<(&Source, &Mutant)> = sources
        .iter()
        .filter(wanted)
        .flat_map(|source| mutants(source).map(move |(_, mutant)| (source, mutant)))
        .collect();
    report(&root, &work, files, &all, &verdicts)
}

fn mutants(source: &Source) -> impl Iterator<Item = (&Site, &Mutant)> {
    let sites = source.found.sites.iter();
    sites.flat_map(|site| site.mutants.iter().map(move |mutant| (site, mutant)))
}

/// Copies the tree, and finds all mutants; returns one more than the highest number, too.
fn sources(root: &Path, to: &Path) -> Result<(Vec<Source>, u32), Box<dyn Error>> {
    let texts = tree::copy(root, to)?;
    let mut parsed = Vec::new();
    for text in texts.values() {
        parsed.push(syn::parse_file(text)?);
    }
    for folder in ["plan/tests", "tests/world/src"] {
        for file in tree::files(&root.join(folder))? {
            if file.extension().is_some_and(|extension| extension == "rs") {
                parsed.push(syn::parse_file(&std::fs::read_to_string(file)?)?);
            }
        }
    }
    let constant = constants::needed(&parsed);
    let mut next = 1;
    let mut sources = Vec::new();
    for (path, text) in texts {
        let found = discover::discover(&text, next, &constant)?;
        next += found
            .sites
            .iter()
            .map(|site| site.mutants.len() as u32)
            .sum::<u32>();
        sources.push(Source { path, text, found });
    }
    Ok((sources, next))
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

/// Prints what came of it; false: too little is caught, or the list says something else.
fn report(
    root: &Path,
    work: &Path,
    files: &[String],
    all: &[(&Source, &Mutant)],
    verdicts: &BTreeMap<u32, Verdict>,
) -> Result<bool, Box<dyn Error>> {
    let count = |verdict| verdicts.values().filter(|is| **is == verdict).count();
    let (caught, missed, hang) = (
        count(Verdict::Caught),
        count(Verdict::Missed),
        count(Verdict::Hangs),
    );
    let mut places = String::new();
    let mut names = Vec::new();
    for (source, mutant) in all {
        let verdict = verdicts.get(&mutant.id);
        let (path, name) = (&source.path, &mutant.name);
        let what = match verdict {
            None => "does not compile",
            Some(Verdict::Caught) => "caught",
            Some(Verdict::Missed) => "missed",
            Some(Verdict::Hangs) => "hangs",
        };
        places += &format!("{what}: {path}:{}:{}: {name}\n", mutant.line, mutant.column);
        if matches!(verdict, Some(Verdict::Missed | Verdict::Hangs)) {
            names.push(format!("{path}: {name}"));
        }
    }
    let outcomes = work.join("outcomes.txt");
    tree::write(&outcomes, places.as_bytes())?;
    println!("each mutant with its place: {}", outcomes.display());
    let compiled = verdicts.len();
    println!(
        "verified: {} mutants of plan, {} do not compile; of {compiled}: {caught} caught, {missed} missed, {hang} hang: \
         {:.1} % caught",
        all.len(),
        all.len() - compiled,
        100.0 * caught as f64 / compiled.max(1) as f64,
    );
    let found = survivors::counted(names.into_iter());
    let list = std::fs::read_to_string(root.join(SURVIVORS))?;
    let listed = survivors::listed(&list, files);
    let mut well = compiled > 0 && caught * 100 >= LEAST_PERCENT * compiled;
    for name in survivors::missing(&found, &listed) {
        println!("survives, and {SURVIVORS} gives no reason: {name}");
        well = false;
    }
    for name in survivors::missing(&listed, &found) {
        println!("does not survive, and still stands in {SURVIVORS}: {name}");
        well = false;
    }
    Ok(well)
}
