//! Checks which folder of `src` may call which. The test walks every path in the sources and fails on a call
//! ("arrow") that docs/design/architecture.md does not allow.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod circles;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::circles::Sources;
use crate::walk::{Walk, module_of, root, rust_files, walk};

/// Each folder with the folders that it may call. `cli` and `supervise` may call every folder.
const ARROWS: &[(&str, &[&str])] = &[
    ("api", &[]),
    ("admission", &["api"]),
    ("controller", &["api", "cloud", "events"]),
    ("cloud", &[]),
    ("node", &["api"]),
    ("events", &[]),
    ("tls", &["api"]),
    ("metrics", &[]),
    ("telemetry", &[]),
    // Compiled for unit tests only.
    ("fake_api", &[]),
];
/// Every folder except `api` may call these. They call no other folder of Mooring.
const OPEN: &[&str] = &["metrics", "telemetry", "fake_api"];
const STARTERS: &[&str] = &["cli", "supervise"];
/// Folders that may use the crate `plan`.
const MAY_USE_PLAN: &[&str] = &[
    "api",
    "admission",
    "controller",
    "events",
    "cloud",
    "node",
    "cli",
    "supervise",
];

fn may(from: &str, to: &str) -> bool {
    if from == to || STARTERS.contains(&from) {
        return true;
    }
    let may_call_open = !OPEN.contains(&from) && from != "api";
    match ARROWS.iter().find(|(folder, _)| *folder == from) {
        Some((_, folders)) => folders.contains(&to) || (may_call_open && OPEN.contains(&to)),
        None => panic!("src/{from} is a folder that the design does not have"),
    }
}

fn forbidden(module: &[String], walk: &Walk, folders: &BTreeSet<String>) -> Vec<String> {
    let Some(from) = module.first() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for to in &walk.named {
        if to == "*" || (folders.contains(to) && !may(from, to)) {
            found.push(format!("{from} -> {to}"));
        }
    }
    if walk.crates.contains("mooring_plan") && !MAY_USE_PLAN.contains(&from.as_str()) {
        found.push(format!("{from} -> plan"));
    }
    found
}

#[test]
fn no_folder_uses_another_that_the_design_does_not_allow() {
    let source = root().join("src");
    let files = rust_files(&source);
    let modules: BTreeMap<_, _> = files
        .iter()
        .map(|file| (file, module_of(file, &source)))
        .collect();
    let folders: BTreeSet<String> = modules
        .values()
        .filter_map(|module| module.first().cloned())
        .collect();
    let mut found = Vec::new();
    for (file, module) in &modules {
        let walk = walk(
            module.clone(),
            &std::fs::read_to_string(file).unwrap(),
            file,
        );
        for arrow in forbidden(module, &walk, &folders) {
            found.push(format!(
                "{}: {arrow}",
                file.strip_prefix(root()).unwrap().display()
            ));
        }
    }
    assert!(
        found.is_empty(),
        "arrows that the design does not have:\n{}",
        found.join("\n")
    );
    assert!(
        folders.contains("cloud") && folders.contains("api"),
        "nothing was walked: {folders:?}"
    );
}

#[test]
fn the_walk_finds_every_kind_of_path() {
    let folders: BTreeSet<String> = ARROWS
        .iter()
        .map(|(folder, _)| (*folder).to_owned())
        .chain(["cli".to_owned()])
        .collect();
    let module = ["cloud".to_owned(), "ec2".to_owned()];
    for text in [
        "use crate::api::Ip;",
        "use crate::{metrics::Metrics, api};",
        "use super::super::api::Ip as Static;",
        "use crate::*;",
        "fn f() { crate::api::crds(); }",
        "fn f() -> super::super::api::Ip { todo!() }",
        "fn f() { println!(\"{}\", crate::api::NAME); }",
        "mod inner { use super::super::super::api; }",
        "#[cfg(test)] mod tests { use mooring::api; }",
    ] {
        let walk = walk(module.to_vec(), text, Path::new(text));
        assert!(
            !forbidden(&module, &walk, &folders).is_empty(),
            "not seen: {text}"
        );
    }
    for text in [
        "use super::CloudError; use crate::metrics::Metrics; use mooring_plan::names::SubnetId;",
        "pub(super) fn f() { self::g(); super::h(); crate::cloud::i(); }",
        "mod api { pub fn own() {} } fn f() { self::api::own(); }",
    ] {
        let walk = walk(module.to_vec(), text, Path::new(text));
        assert_eq!(
            forbidden(&module, &walk, &folders),
            Vec::<String>::new(),
            "seen wrongly: {text}"
        );
    }
    let plan = walk(
        vec!["tls".into()],
        "use mooring_plan::names::IpName;",
        Path::new("tls"),
    );
    assert_eq!(
        forbidden(&["tls".to_owned()], &plan, &folders),
        ["tls -> plan"]
    );
}

fn dependencies(manifest: &str, tables: &[&str]) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(manifest)).unwrap();
    let manifest: toml::Table = text.parse().unwrap();
    tables
        .iter()
        .filter_map(|table| manifest.get(*table)?.as_table())
        .flat_map(|table| table.keys().cloned())
        .collect()
}

#[test]
fn the_decisions_depend_on_no_crate_with_clock_or_sockets() {
    assert_eq!(
        dependencies("plan/Cargo.toml", &["dependencies", "build-dependencies"]),
        ["ipnet"]
    );
    let text = std::fs::read_to_string(root().join("plan/src/lib.rs")).unwrap();
    assert!(
        text.contains("#![no_std]"),
        "plan must not see the standard library"
    );
    for file in rust_files(&root().join("plan/src")) {
        let walk = walk(Vec::new(), &std::fs::read_to_string(&file).unwrap(), &file);
        let tests = file.ends_with("tests.rs") || file.iter().any(|part| part == "tests");
        assert!(
            tests || !walk.crates.contains("std"),
            "{} names std",
            file.display()
        );
    }
}

#[test]
fn the_emulator_does_not_depend_on_the_code_under_test() {
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    for (manifest, why) in [
        (
            "tests/ec2-emulator/Cargo.toml",
            "the reference for EC2 must not depend on the code that it checks",
        ),
        (
            "tests/cluster/Cargo.toml",
            "the cluster runs the built binaries",
        ),
    ] {
        let ours: Vec<_> = dependencies(manifest, &tables)
            .into_iter()
            .filter(|name| name.starts_with("mooring") || name == "ec2-emulator")
            .collect();
        assert_eq!(ours, Vec::<String>::new(), "{manifest}: {why}");
    }
    for file in rust_files(&root().join("tests/ec2-emulator")) {
        let walk = walk(Vec::new(), &std::fs::read_to_string(&file).unwrap(), &file);
        let ours: Vec<_> = walk
            .crates
            .iter()
            .filter(|name| name.starts_with("mooring"))
            .collect();
        assert!(ours.is_empty(), "{}: {ours:?}", file.display());
    }
}

#[test]
fn no_files_of_one_folder_import_each_other() {
    for source in ["src", "plan/src"] {
        let circles = Sources::read(&root().join(source)).circles();
        assert_eq!(circles, BTreeSet::new(), "{source}");
    }
}
