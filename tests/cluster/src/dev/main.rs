//! `mooring-dev`: a cluster to look at Mooring in.

#![allow(clippy::doc_markdown)]

mod demo;
mod down;
mod screen;
mod serve;
mod up;
mod world;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Starts a real Kubernetes control plane, emulated EC2 and Mooring on this machine
#[derive(Debug, Parser)]
#[command(name = "mooring-dev")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start everything and leave it running; writes target/dev/env, to be sourced
    Up,
    /// End what `up` started
    Down,
    /// Start everything, show what Mooring does, end everything
    Demo,
    /// What `up` leaves running
    #[command(hide = true)]
    Serve,
}

fn main() -> ExitCode {
    // What does not start panics with its log: that is what a person wants to read, not our stack.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!(
            "{}",
            panic.payload_as_str().unwrap_or("it failed without a word")
        );
    }));
    let done = match Cli::parse().command {
        Command::Up => up::up(),
        Command::Down => down::down(),
        Command::Demo => mooring_cluster::run(demo::demo()),
        Command::Serve => mooring_cluster::run(serve::serve()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
