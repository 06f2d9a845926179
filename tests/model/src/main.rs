//! `mooring-model [--list] [--quick] [--faults=N] [CONFIGURATION...]`: explores configurations and prints a
//! report. `--faults` is the maximum number of faults on a path, instead of the number in each configuration.

use std::io::IsTerminal;
use std::process::ExitCode;

use mooring_model::configurations::{ALL, QUICK};
use mooring_model::report::{Explored, explore};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let faults = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("--faults="));
    let faults: Option<u8> = match faults.map(str::parse).transpose() {
        Ok(faults) => faults,
        Err(why) => {
            eprintln!("--faults: {why}");
            return ExitCode::from(2);
        }
    };
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in ALL {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let named: Vec<&String> = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    for name in &named {
        if !ALL.iter().any(|(known, _)| known == name) {
            eprintln!("there is no configuration {name:?}: see mooring-model --list");
            return ExitCode::from(2);
        }
    }
    let wanted = |name: &str| {
        let one_of_all = named.is_empty() && (!quick || QUICK.contains(&name));
        one_of_all || named.iter().any(|wanted| *wanted == name)
    };
    let mut explored = Vec::new();
    for (_, make) in ALL.iter().filter(|(name, _)| wanted(name)) {
        let mut configuration = make();
        configuration.initial.faults = faults.unwrap_or(configuration.initial.faults);
        let found = explore(&configuration, 2);
        print(&found);
        explored.push(found);
    }
    let well = explored.iter().all(Explored::passed);
    let states: usize = explored.iter().map(|found| found.states).sum();
    let took: f64 = explored.iter().map(|found| found.took.as_secs_f64()).sum();
    let count = explored.len();
    if well {
        println!(
            "verified: {count} configurations explored to the end, {states} distinct states in {took:.0} s"
        );
        return ExitCode::SUCCESS;
    }
    println!("violated: see above ({states} distinct states in {took:.0} s)");
    ExitCode::FAILURE
}

fn print(found: &Explored) {
    let text = |so: bool| match (std::io::stdout().is_terminal(), so) {
        (true, true) => "\x1b[32mok\x1b[0m",
        (true, false) => "\x1b[31mFAILED\x1b[0m",
        (false, true) => "ok",
        (false, false) => "FAILED",
    };
    println!(
        "{:<16} {:>9} states, {:>3} deep, {:>8} for liveness, {:>6.1} s  {}",
        found.name,
        found.states,
        found.depth,
        found.liveness_states,
        found.took.as_secs_f64(),
        text(found.passed())
    );
    for (what, so) in &found.reached {
        println!(
            "    {} {what}",
            if *so { "reached" } else { "NEVER REACHED" }
        );
    }
    for (what, story) in &found.violated {
        println!("    VIOLATED: {what}\n{story}");
    }
}
