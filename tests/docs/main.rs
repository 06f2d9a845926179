//! Checks the documentation: links have a target, a test runs every command, the reference and the glossary match the
//! code, code or tests cite the id of every rule of the protocol, and the counts of planted bugs and of configurations of
//! the model are right.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod commands;
mod counts;
mod definitions;
mod glossary;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use mooring_plan::reason::Reason;

/// The code blocks with commands that a test runs: page, heading, number of blocks, test.
const RUN: [(&str, &str, usize, &str); 10] = [
    (
        "README.md",
        "Try it, without AWS",
        2,
        "make verify SLICES=\"demo readme\"",
    ),
    ("README.md", "Install", 1, "e2e::readme"),
    ("README.md", "First IP", 1, "e2e::readme"),
    ("README.md", "Develop", 1, ".ci/run"),
    ("CONTRIBUTING.md", "Set up", 1, ".ci/run"),
    (
        "docs/install.md",
        "Without cert-manager",
        1,
        "e2e::readme::without_cert_manager",
    ),
    (
        "docs/operate.md",
        "A deletion that is stuck",
        1,
        "e2e::stuck, without its line for aws",
    ),
    (
        "docs/operate.md",
        "Uninstall",
        2,
        "e2e::readme, e2e::uninstall",
    ),
    (
        "docs/operate.md",
        "Uninstall without cert-manager",
        1,
        "e2e::readme::without_cert_manager",
    ),
    (
        "docs/authorize-use.md",
        "The right to `use` an IP",
        1,
        "e2e::authorize_use",
    ),
];

/// The code blocks that no test runs, because they need AWS.
const NOT_RUN: [(&str, &str, usize); 1] = [(
    "docs/design/ec2.md",
    "AWS can give a reserved address to a new ENI",
    1,
)];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// Every file below a folder of the repository, with its path relative to the repository.
fn files_below(folder: &str) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
                files.push((name.to_owned(), path));
            }
        }
    }
    files.sort();
    files
}

/// Every page of the documentation, relative to the repository.
fn pages() -> Vec<String> {
    let mut pages = vec![
        "README.md".to_owned(),
        "SECURITY.md".to_owned(),
        "CONTRIBUTING.md".to_owned(),
        "CHANGELOG.md".to_owned(),
    ];
    for folder in ["docs", "docs/design"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if Path::new(&name)
                .extension()
                .is_some_and(|kind| kind == "md")
            {
                pages.push(format!("{folder}/{name}"));
            }
        }
    }
    assert!(pages.len() > 12, "{pages:?}");
    pages
}

/// The lines outside of fenced code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        (!fenced).then_some((number + 1, line))
    })
}

/// The anchor that GitHub makes for a heading.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let text: String = heading.trim().to_lowercase().chars().filter(kept).collect();
    text.replace(' ', "-")
}

fn anchors(page: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let headings = prose(&text).filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| anchor(line.trim_start_matches('#')))
        .collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = read(&page);
        let folder = root().join(&page).parent().unwrap().to_owned();
        for (number, line) in prose(&text) {
            for link in line.split("](").skip(1) {
                let link = link.split(')').next().unwrap();
                if link.starts_with("http") {
                    continue;
                }
                count += 1;
                let (path, heading) = link.split_once('#').unwrap_or((link, ""));
                let target: PathBuf = if path.is_empty() {
                    root().join(&page)
                } else {
                    folder.join(path)
                };
                let there =
                    target.exists() && (heading.is_empty() || anchors(&target).contains(heading));
                if !there {
                    wrong.push(format!("{page}:{number}: {link}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 40, "{count} links");
}

#[test]
fn every_block_of_commands_is_run_by_a_test() {
    let mut found = BTreeMap::new();
    for page in pages() {
        let text = read(&page);
        let mut heading = "";
        let mut fenced = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
                if line.trim() == "```sh" {
                    *found.entry((page.clone(), heading.to_owned())).or_insert(0) += 1;
                }
            } else if let Some(text) = line.strip_prefix("## ").filter(|_| !fenced) {
                heading = text;
            }
        }
    }
    let run = RUN
        .iter()
        .map(|(page, heading, count, _)| ((*page, *heading), *count));
    let others = NOT_RUN
        .iter()
        .map(|(page, heading, count)| ((*page, *heading), *count));
    let known: BTreeMap<_, _> = run
        .chain(others)
        .map(|((page, heading), count)| ((page.to_owned(), heading.to_owned()), count))
        .collect();
    assert_eq!(found, known);
}

#[test]
fn the_readme_is_short_and_installs_in_six_commands() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= 200);
    let (_, install) = readme.split_once("\n## Install\n").unwrap();
    let (_, commands) = install.split_once("```sh\n").unwrap();
    let (commands, _) = commands.split_once("```").unwrap();
    assert_eq!(commands.lines().count(), 6);
}

/// The lines that `make bench` has written into a page.
fn figures(page: &str) -> Vec<String> {
    let text = read(page);
    let (_, rest) = text
        .split_once("<!-- figures: written by make bench -->")
        .unwrap();
    let (block, _) = rest.split_once("<!-- end of the figures -->").unwrap();
    block.trim().lines().map(str::to_owned).collect()
}

#[test]
fn the_figures_of_the_readme_are_those_of_the_page_on_performance() {
    let (readme, page) = (figures("README.md"), figures("docs/performance.md"));
    let rows = readme.iter().filter(|line| line.starts_with("| "));
    assert!(rows.count() > 4, "{readme:#?}");
    let others: Vec<_> = readme.iter().filter(|line| !page.contains(line)).collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn the_reference_has_every_reason_flag_field_and_metric() {
    let reference = read("docs/reference.md");
    let operate = read("docs/operate.md");
    for reason in Reason::ALL {
        let row = format!("\n| `{}` |", reason.as_str());
        assert!(reference.contains(&row), "{}", reason.as_str());
    }
    let help = Command::new(env!("CARGO_BIN_EXE_mooring"))
        .args(["run", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let flags: Vec<_> = help
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--"))
        .map(|flag| flag.split([' ', '=']).next().unwrap())
        .collect();
    assert!(flags.len() > 20, "{flags:?}");
    for flag in flags {
        let row = format!("\n| `--{flag}` |");
        assert!(reference.contains(&row), "--{flag}");
    }
    for definition in mooring::api::crds::definitions() {
        let schema = serde_json::to_value(&definition.spec.versions[0].schema).unwrap();
        for part in ["spec", "status"] {
            let properties = &schema["openAPIV3Schema"]["properties"][part]["properties"];
            // The spec of an IPNode has no fields.
            for (field, _) in properties.as_object().into_iter().flatten() {
                let named = reference.contains(&format!("`{part}.{field}`"))
                    || reference.contains(&format!("`{part}.{field}."));
                assert!(named, "{} {part}.{field}", definition.spec.names.kind);
            }
        }
    }
    // `/metrics` does not show a metric without samples, so the names come from the code that registers them.
    let source = read("src/metrics.rs") + &read("src/metrics/register.rs");
    let registered = source.split("registry.register(").skip(1);
    let counters = source.split("registry,").skip(1);
    let metrics: BTreeSet<_> = registered
        .chain(counters)
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .collect();
    assert!(metrics.len() == 20, "{metrics:?}");
    for metric in metrics {
        let named = ["", "_total", "_info"].iter().any(|end| {
            ["`", "{"]
                .iter()
                .any(|after| operate.contains(&format!("`mooring_{metric}{end}{after}")))
        });
        assert!(named, "{metric}");
    }
}

#[test]
fn no_line_is_long_outside_of_tables() {
    for page in pages() {
        if page == "docs/verified.md" {
            continue;
        }
        let text = read(&page);
        for (number, line) in prose(&text) {
            let fits = line.starts_with('|') || line.chars().count() <= 160;
            assert!(fits, "{page}:{number}");
        }
    }
}
