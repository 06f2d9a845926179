//! What was measured: a table on the terminal, and files in `target/bench`.

use std::fmt::Write as _;
use std::sync::Mutex;

use serde_json::{Value, json};

/// What others were measured at, or published, where there is such a figure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Others {
    pub cncc: &'static str,
    pub eip_operator: &'static str,
}

#[derive(Clone, Debug)]
struct Row {
    what: String,
    value: String,
    goal: &'static str,
    others: Others,
}

static ROWS: Mutex<Vec<Row>> = Mutex::new(Vec::new());
/// IPs, and the resident memory in MiB.
static MEMORY: Mutex<Vec<(usize, f64)>> = Mutex::new(Vec::new());

/// A figure.
pub fn figure(what: &str, value: impl Into<String>, goal: &'static str, others: Others) {
    let value = value.into();
    println!("verified: {what}: {value}");
    ROWS.lock().unwrap().push(Row {
        what: what.to_owned(),
        value,
        goal,
        others,
    });
}

/// The memory with this number of IPs.
pub fn memory(ips: usize, mebibytes: f64) {
    MEMORY.lock().unwrap().push((ips, mebibytes));
}

/// A count, for a share or a rate of it.
pub fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The median and the 99th percentile, of milliseconds.
pub fn percentiles(mut values: Vec<f64>) -> (f64, f64) {
    assert!(!values.is_empty(), "nothing was measured");
    values.sort_by(f64::total_cmp);
    let at = |share: usize| values[(values.len() * share / 100).min(values.len() - 1)];
    (at(50), at(99))
}

/// Writes all that was measured, if anything was.
pub fn report() {
    let rows = ROWS.lock().unwrap();
    if rows.is_empty() {
        return;
    }
    let folder = mooring_cluster::repository().join("target/bench");
    std::fs::create_dir_all(&folder).expect("target can be written");
    let mut table =
        String::from("| what | CNCC | eip-operator | Mooring | goal |\n|---|---|---|---|---|\n");
    for row in &*rows {
        writeln!(
            table,
            "| {} | {} | {} | {} | {} |",
            row.what, row.others.cncc, row.others.eip_operator, row.value, row.goal
        )
        .expect("a string can be written");
    }
    let all: Vec<Value> = rows
        .iter()
        .map(|row| json!({"what": row.what, "value": row.value, "goal": row.goal}))
        .collect();
    let memory = MEMORY.lock().unwrap();
    let text = serde_json::to_string_pretty(&json!({"figures": all, "memory": *memory}));
    for (name, content) in [
        ("figures.md", table.clone()),
        ("figures.json", text.expect("it is JSON")),
        ("memory.svg", plot(&memory)),
    ] {
        std::fs::write(folder.join(name), content).expect("target can be written");
    }
    println!("{table}\nwritten to target/bench: figures.md, figures.json, memory.svg");
}

/// Memory over the number of IPs, both from 0.
fn plot(points: &[(usize, f64)]) -> String {
    let (width, height, margin) = (640.0, 360.0, 50.0);
    let most = points
        .iter()
        .map(|(ips, _)| number(*ips))
        .fold(1.0, f64::max);
    let largest = points
        .iter()
        .map(|(_, mebibytes)| *mebibytes)
        .fold(1.0, f64::max);
    let x = |ips: usize| margin + number(ips) / most * (width - 2.0 * margin);
    let y = |mebibytes: f64| height - margin - mebibytes / largest * (height - 2.0 * margin);
    let mut marks = String::new();
    for (ips, mebibytes) in points {
        let (at, up) = (x(*ips), y(*mebibytes));
        write!(
            marks,
            "<circle cx=\"{at:.0}\" cy=\"{up:.0}\" r=\"4\"/>\
             <text x=\"{at:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{mebibytes:.0}</text>\
             <text x=\"{at:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{ips}</text>",
            up - 8.0,
            height - margin + 18.0
        )
        .expect("a string can be written");
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\"><text x=\"{margin}\" y=\"20\">Resident memory in MiB, over the number of IPs</text>\
         <path d=\"M{margin} {margin}V{0}H{1}\" fill=\"none\" stroke=\"black\"/>{marks}</svg>\n",
        height - margin,
        width - margin
    )
}
