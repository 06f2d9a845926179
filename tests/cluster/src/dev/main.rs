//! `mooring-dev`: a cluster to try Mooring.

#![allow(clippy::doc_markdown)]

mod demo;
mod down;
mod packets;
mod screen;
mod serve;
mod up;
mod world;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mooring_cluster::network::{self, Entered};

/// Starts a real Kubernetes control plane, emulated EC2 and Mooring on this machine
#[derive(Debug, Parser)]
#[command(name = "mooring-dev")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a cluster and leave it running; writes target/dev/env, to be sourced
    Up,
    /// End the cluster of `up`
    Down,
    /// Start a cluster, show the work of Mooring, end the cluster
    Demo,
    /// The supervisor of `up`
    #[command(hide = true)]
    Serve,
}

fn main() -> ExitCode {
    // A process that does not start panics with its log; a backtrace would not help.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!(
            "{}",
            panic.payload_as_str().unwrap_or("it failed without a word")
        );
    }));
    let done = match Cli::parse().command {
        Command::Up => up::up(),
        Command::Down => down::down(),
        Command::Demo => match network::enter() {
            Ok(Entered::Ended(code)) => return code,
            Ok(Entered::Here) => mooring_cluster::run(demo::demo(Ok(()))),
            Err(why) => mooring_cluster::run(demo::demo(Err(why))),
        },
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
