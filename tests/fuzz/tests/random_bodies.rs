//! The properties hold for any input: the corpus is replayed, and inputs of a seeded mutator are tried for ten seconds,
//! a quarter of the time for each body.
//!
//! - `MOORING_FUZZ_SECONDS=600` runs longer, `MOORING_FUZZ_SEED=7` repeats the inputs of a seed.
//! - `MOORING_FUZZ_INPUT=FILE` runs one file with the body whose name is a part of its path.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what a test did not foresee fails it"
)]

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mooring_fuzz::chance::Chance;
use mooring_fuzz::corpus::inputs;
use mooring_fuzz::failure::outcome;
use mooring_fuzz::mutate::Mutator;
use mooring_fuzz::objects::steps;
use mooring_fuzz::review::verdicts;
use mooring_fuzz::{BODIES, Body};

/// The number of paths of the webhook. Each refuses some inputs of the corpus and accepts others.
const PATHS: usize = 4;

fn body(name: &str) -> Body {
    let known = BODIES.into_iter().find(|body| body.name == name);
    known.unwrap_or_else(|| panic!("there is no body {name}"))
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable}={text} is no number")),
    )
}

/// Saves an input that violates a property in `target/fuzz`, next to the profile folder of this binary. Returns the
/// file.
fn broken(body: Body, bytes: &[u8]) -> PathBuf {
    let binary = std::env::current_exe().unwrap();
    let target = binary.ancestors().nth(3).unwrap();
    let folder = target.join("fuzz").join(body.name);
    std::fs::create_dir_all(&folder).unwrap();
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let file = folder.join(format!("{sum:016x}"));
    std::fs::write(&file, bytes).unwrap();
    file
}

fn holds(body: Body, bytes: &[u8]) -> bool {
    catch_unwind(|| (body.run)(bytes)).is_ok()
}

fn replay(name: &str) {
    let body = body(name);
    let kept = inputs(name);
    assert!(
        !kept.is_empty(),
        "the corpus of {name} is empty: nothing was replayed"
    );
    for input in kept {
        let file = input.file.display();
        assert!(
            holds(body, &input.bytes),
            "{file} violates a property of {name}: see the panic above"
        );
    }
}

/// Random input, until the time is over.
fn random(body: Body, seed: u64, time: Duration) {
    let mutator = Mutator::of(body.name);
    let mut chance = Chance::new(seed);
    let (begun, mut tried) = (Instant::now(), 0u64);
    while begun.elapsed() < time {
        let bytes = mutator.make(&mut chance);
        if !holds(body, &bytes) {
            let file = broken(body, &bytes);
            let file = file.display();
            panic!(
                "input {tried} of seed {seed} breaks a promise of {}: the panic above says which. Replay it with\n  \
                 MOORING_FUZZ_INPUT={file} cargo test --package mooring-fuzz --test random_bodies one_input\n\
                 and keep it, once it is corrected, in tests/fuzz/corpus/{}",
                body.name, body.name
            );
        }
        tried += 1;
    }
    assert!(tried > 0, "nothing was tried");
    println!("{}: {tried} inputs of seed {seed} in {time:?}", body.name);
}

#[test]
fn every_review_is_answered_and_a_pod_gets_exactly_what_it_needs() {
    replay("review");
}

#[test]
fn no_object_causes_a_call_without_a_claim_or_a_lost_place() {
    replay("objects");
}

#[test]
fn an_unexpected_answer_of_ec2_is_unknown() {
    replay("failure");
}

#[test]
fn every_parsed_text_survives_a_round_trip() {
    replay("annotation");
}

/// A corpus that reaches no outcome would violate no property either.
#[test]
fn the_corpus_reaches_every_outcome() {
    let all = |body| inputs(body).into_iter().map(|input| input.bytes);
    let steps: BTreeSet<String> = all("objects").flat_map(|bytes| steps(&bytes)).collect();
    let wanted = [
        "Assign",
        "Unassign",
        "Reserve",
        "RepairReservation",
        "Release",
        "AddFinalizer",
        "RemoveFinalizer",
        "DropTakeFrom",
        "ReportUnreadable",
        "Gate",
        "Reserved",
        "Claim",
        "Revert",
        "Record",
        "Detach",
        "Clear",
        "Conditions",
        "ReadPod",
        "ReadIp",
        "ReadReservations",
        "ReadReplicaSets",
    ];
    let missing: Vec<_> = wanted
        .iter()
        .filter(|step| !steps.contains(**step))
        .collect();
    assert!(missing.is_empty(), "never {missing:?}, only {steps:?}");

    let outcomes: BTreeSet<_> = all("failure").map(|bytes| outcome(&bytes)).collect();
    assert!(
        outcomes.contains(&None) && outcomes.len() >= 11,
        "{outcomes:?}"
    );

    let verdicts: BTreeSet<_> = all("review").flat_map(|bytes| verdicts(&bytes)).collect();
    assert_eq!(verdicts.len(), 2 * PATHS + 1, "{verdicts:?}");
}

#[test]
fn random_input_violates_no_property() {
    let seconds = number("MOORING_FUZZ_SECONDS").unwrap_or(10);
    let time = Duration::from_secs(seconds) / u32::try_from(BODIES.len()).unwrap();
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("MOORING_FUZZ_SEED").unwrap_or_else(|| u64::from(clock().subsec_nanos()));
    println!("seed {seed}: again with MOORING_FUZZ_SEED={seed}");
    for body in BODIES {
        random(body, seed, time);
    }
}

#[test]
fn one_input() {
    let Some(file) = std::env::var_os("MOORING_FUZZ_INPUT") else {
        return;
    };
    let file = Path::new(&file);
    let bytes = std::fs::read(file).unwrap();
    let named = |body: &Body| file.iter().any(|part| part == body.name);
    let body = BODIES
        .into_iter()
        .find(named)
        .expect("a path with the body's name in it");
    (body.run)(&bytes);
}

#[test]
fn equal_seeds_give_equal_sequences() {
    for body in BODIES {
        let mutator = Mutator::of(body.name);
        let (mut one, mut other) = (Chance::new(7), Chance::new(7));
        for _ in 0..50 {
            assert_eq!(
                mutator.make(&mut one),
                mutator.make(&mut other),
                "{}",
                body.name
            );
        }
    }
}
