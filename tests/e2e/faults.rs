//! Checks `tests/faults.toml`: which test shows that a fault is survived. The check fails on a number of
//! docs/design/faults.md that has no test, and on a test that does not exist, did not run, was ignored, or ran more
//! than once.
//!
//! This binary has the list of its scenes. For other tests, `make test-fast` writes a log.

mod log;
mod named;

use std::collections::{BTreeMap, BTreeSet};

use libtest_mimic::Trial;
use mooring_cluster::repository;

use log::Log;
use named::Named;

/// The faults and the other promises, each with its tests.
type Promises = BTreeMap<String, Vec<String>>;

/// The scenes that ran in this process.
pub struct TestRun {
    /// All scenes.
    pub all: Vec<String>,
    /// The ignored scenes.
    pub ignored: Vec<String>,
    /// All scenes ran: none was filtered out.
    pub complete: bool,
}

/// Compares the file with the tests that ran; the error contains all mistakes. After a run of some scenes, only the
/// names are checked.
pub fn check(run: &TestRun) -> Result<(), String> {
    let read = |path: &str| {
        std::fs::read_to_string(repository().join(path)).map_err(|error| format!("{path}: {error}"))
    };
    let promises = parse(&read("tests/faults.toml")?)?;
    let mut wrong = missing(&numbers(&read("docs/design/faults.md")?), &promises);
    let log = if run.complete {
        Some(Log::read()?)
    } else {
        None
    };
    for (fault, tests) in &promises {
        for test in tests {
            if let Err(why) = shown(test, run, log.as_ref()) {
                wrong.push(format!("{fault}: {test} {why}"));
            }
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// Reads the file: numbers at the top, and a table with the other promises.
fn parse(text: &str) -> Result<Promises, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut promises = Promises::new();
    for (key, value) in table {
        let list = |value: toml::Value| {
            let list = value.try_into::<Vec<String>>();
            list.map_err(|error| format!("{key}: {error}"))
        };
        match value {
            toml::Value::Table(besides) => {
                for (sentence, value) in besides {
                    promises.insert(sentence, list(value)?);
                }
            }
            value => {
                let tests = list(value)?;
                promises.insert(key.clone(), tests);
            }
        }
    }
    Ok(promises)
}

/// The numbers of the table in docs/design/faults.md.
fn numbers(text: &str) -> BTreeSet<u32> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.split(' ').next()?.parse().ok())
        .collect()
}

fn missing(numbers: &BTreeSet<u32>, promises: &Promises) -> Vec<String> {
    let mut wrong = Vec::new();
    if numbers.is_empty() {
        wrong.push("docs/design/faults.md has no numbers".to_owned());
    }
    for number in numbers {
        if promises.get(&number.to_string()).is_none_or(Vec::is_empty) {
            wrong.push(format!(
                "fault {number} of docs/design/faults.md has no test"
            ));
        }
    }
    for key in promises.keys() {
        if key
            .parse()
            .is_ok_and(|number: u32| !numbers.contains(&number))
        {
            wrong.push(format!("docs/design/faults.md has no fault {key}"));
        }
    }
    wrong
}

/// Did this test run once and pass? Without a log: does it exist?
fn shown(test: &str, run: &TestRun, log: Option<&Log>) -> Result<(), String> {
    match Named::parse(test)? {
        Named::Scene => match run.all.iter().filter(|name| *name == test).count() {
            0 => Err("does not exist".to_owned()),
            1 if run.ignored.iter().any(|name| name == test) => Err("is ignored".to_owned()),
            1 => Ok(()),
            _ => Err("exists more than once".to_owned()),
        },
        Named::Node(promise) => log.map_or(Ok(()), |log| log.node_ran(&promise)),
        Named::Test(named) => {
            named.exists()?;
            let Some(log) = log else { return Ok(()) };
            if log.is_older_than(&named.file)? {
                return Err(
                    "has changed since the log was written: run `make test-fast`".to_owned(),
                );
            }
            log.ran_once(&named)
        }
    }
}

/// Tests that the check finds each mistake.
pub fn scenes() -> Vec<Trial> {
    let run = || TestRun {
        all: vec!["e2e::a::b".to_owned(), "e2e::a::left_out".to_owned()],
        ignored: vec!["e2e::a::left_out".to_owned()],
        complete: true,
    };
    let log = || {
        Log::of(
            "     Running tests/promises/main.rs (target/debug/deps/promises-0123456789abcdef)\n\
             test drift::one_inventory_without_the_address_moves_nothing ... ok\n\
             test drift::a_manually_unassigned_address_is_assigned_again ... ignored\n\
             test drift::the_address_returns_when_the_foreign_interface_releases_it ... ok\n\
             test drift::the_address_returns_when_the_foreign_interface_releases_it ... ok\n\
             \x20    Running tests/node/main.rs (target/debug/deps/node-0123456789abcdef)\n\
             test damages::legacy ... ok\n\
             test damages::nft    ... ok\n\
             test closed::legacy  ... ok\n\
             test closed::nft     ... FAILED\n",
        )
    };
    let expect = move |test: &'static str, word: &'static str| {
        let result = shown(test, &run(), Some(&log()));
        match result {
            Ok(()) if word.is_empty() => Ok(()),
            Err(why) if !word.is_empty() && why.contains(word) => Ok(()),
            other => Err(format!("{test}: {other:?}, expected {word:?}").into()),
        }
    };
    let drift = "plan/tests/promises/drift.rs::one_inventory_without_the_address_moves_nothing";
    let ignored = "plan/tests/promises/drift.rs::a_manually_unassigned_address_is_assigned_again";
    let absent = "plan/tests/promises/drift.rs::a_deleted_interface_is_replaced_by_the_other";
    let repeated =
        "plan/tests/promises/drift.rs::the_address_returns_when_the_foreign_interface_releases_it";
    let of = |name: &str, body: Box<dyn FnOnce() -> Result<(), libtest_mimic::Failed> + Send>| {
        Trial::test(format!("e2e::faults::{name}"), body)
    };
    vec![
        of(
            "a_fault_without_a_test_is_found",
            Box::new(|| {
                let promises = parse("1 = []\n9 = ['x']").map_err(libtest_mimic::Failed::from)?;
                let numbers = numbers("| # | fault |\n|---|---|\n| 1 | one |\n| 2 | two |\n");
                let wrong = missing(&numbers, &promises);
                if wrong.len() == 3 {
                    Ok(())
                } else {
                    Err(format!("{wrong:?}").into())
                }
            }),
        ),
        of(
            "a_test_that_ran_passes",
            Box::new(move || {
                expect("e2e::a::b", "")
                    .and_then(|()| expect(drift, ""))
                    .and_then(|()| expect("node::damages", ""))
            }),
        ),
        of(
            "a_test_that_does_not_exist_is_found",
            Box::new(move || {
                expect("e2e::a::c", "not exist")
                    .and_then(|()| {
                        expect("plan/tests/promises/drift.rs::no_such_test", "not exist")
                    })
                    .and_then(|()| {
                        expect("plan/tests/promises/no_such_file.rs::any", "no_such_file")
                    })
            }),
        ),
        of(
            "a_test_that_did_not_run_is_found",
            Box::new(move || {
                expect(absent, "did not run")
                    .and_then(|()| expect("node::absent", "did not run"))
                    .and_then(|()| expect("node::closed", "FAILED"))
            }),
        ),
        of(
            "an_ignored_or_repeated_test_is_found",
            Box::new(move || {
                expect("e2e::a::left_out", "ignored")
                    .and_then(|()| expect(ignored, "ignored"))
                    .and_then(|()| expect(repeated, "2 times"))
            }),
        ),
    ]
}
