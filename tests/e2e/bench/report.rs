//! The report: a table on the terminal, files in `target/bench`, and the figures of the docs.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::calls_svg;
use super::figures::{self, Figure};
use super::growth::{self, Series};
use super::machine::Machine;
use super::plot::{Scale, plot};

const BEGIN: &str = "<!-- figures: written by make bench -->";
const END: &str = "<!-- end of the figures -->";

/// The figures that README.md shows.
const README: [&str; 6] = [
    "attach-requests",
    "attach-time",
    "drain",
    "restart-500",
    "memory-500",
    "webhook-mutate-64",
];

/// Writes all measured figures, if there are any.
pub fn report() {
    if figures::all().is_empty() {
        return;
    }
    growth::fits();
    let (figures, machine) = (figures::all(), Machine::here());
    let folder = mooring_cluster::repository().join("target/bench");
    std::fs::create_dir_all(&folder).expect("target can be written");
    let table = table(figures.iter());
    let files = [
        ("figures.md", format!("{}\n\n{table}", machine.sentences())),
        ("figures.json", json(&figures, &machine)),
        (
            "memory.svg",
            plot("Resident memory in MiB", Scale::Linear, &memory()),
        ),
        (
            "growth.svg",
            plot(
                "Growth (both axes logarithmic)",
                Scale::Logarithmic,
                &growth::series(),
            ),
        ),
        ("calls.svg", calls_svg::svg()),
    ];
    let names = files.each_ref().map(|(name, _)| *name).join(", ");
    for (name, content) in files {
        std::fs::write(folder.join(name), content).expect("target can be written");
    }
    println!(
        "{}\n\n{table}\nwritten to target/bench: {names}",
        machine.sentences()
    );
    if std::env::var_os("MOORING_BENCH_DOCS").is_some() && figures::is_complete() {
        write_docs(&figures, &machine);
    }
}

fn table<'a>(figures: impl Iterator<Item = &'a Figure>) -> String {
    let mut table =
        "| what | CNCC | eip-operator | Mooring | goal |\n|---|---|---|---|---|\n".to_owned();
    for figure in figures {
        let Figure {
            what,
            cncc,
            eip_operator,
            value,
            goal,
            ..
        } = figure;
        writeln!(
            table,
            "| {what} | {cncc} | {eip_operator} | {value} | {goal} |"
        )
        .expect("a string can be written");
    }
    table
}

fn json(figures: &[Figure], machine: &Machine) -> String {
    let figures: Vec<Value> = figures
        .iter()
        .map(|figure| {
            json!({"key": figure.key, "what": figure.what, "value": figure.value, "goal": figure.goal,
                "cncc": figure.cncc, "eip_operator": figure.eip_operator})
        })
        .collect();
    let sizes: Vec<Value> = growth::measured()
        .iter()
        .map(|size| {
            json!({"ips": size.ips, "memory_mib": size.memory, "attach_s": size.attach, "cpu_s": size.cpu,
                "restart_s": size.restart})
        })
        .collect();
    let all = json!({"commit": machine.commit, "date": machine.date, "binary": machine.binary, "cpu": machine.cpu,
        "cores": machine.cores, "memory": machine.memory, "kernel": machine.kernel, "figures": figures,
        "growth": sizes});
    serde_json::to_string_pretty(&all).expect("it is JSON")
}

/// The curves of the memory before and after a restart.
fn memory() -> [Series; 2] {
    let of = |name, at: usize| Series {
        name,
        points: growth::measured()
            .iter()
            .map(|size| (figures::number(size.ips), size.memory[at]))
            .collect(),
    };
    [of("before a restart", 0), of("after a restart", 1)]
}

/// Writes the figures into docs/performance.md, and some of them into README.md.
fn write_docs(figures: &[Figure], machine: &Machine) {
    let some = figures
        .iter()
        .filter(|figure| README.contains(&figure.key.as_str()));
    for (page, table) in [
        ("docs/performance.md", table(figures.iter())),
        ("README.md", table(some)),
    ] {
        let path = mooring_cluster::repository().join(page);
        write_block(&path, &format!("{}\n\n{table}", machine.sentences()));
        println!("written: the figures of {page}");
    }
}

/// Replaces the text between the markers.
fn write_block(path: &Path, block: &str) {
    let text = std::fs::read_to_string(path).expect("the page is there");
    let (before, rest) = text.split_once(BEGIN).expect("it has the first marker");
    let (_, after) = rest.split_once(END).expect("it has the second marker");
    let text = format!("{before}{BEGIN}\n{block}{END}{after}");
    std::fs::write(path, text).expect("the page can be written");
}
