//! The command line.

mod authorize;
mod certificate;
mod clients;
mod crds;
mod duration;
mod echo;
mod files;
mod identity;
mod listen;
mod node;
mod pod_events;
mod region;
mod run;
mod signals;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::supervise::BoxError;
use crate::telemetry::chain;

/// Ties a static, company-owned IP address to a Kubernetes pod on EC2.
#[derive(Debug, Parser)]
#[command(name = "mooring", version, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the admission webhook and the controller
    Run(Box<run::Args>),
    /// Program the addresses of the pods of one node into its kernel
    Node(node::Args),
    /// Answer each TCP connection with the address that it comes from: the target of a probe
    Echo(echo::Args),
    /// Print the custom resource definitions as YAML
    Crds,
}

/// Parses the command line and runs the command. Prints an error to stderr.
#[must_use]
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => run::run(*args),
        Command::Node(args) => node::run(args),
        Command::Echo(args) => echo::run(args),
        Command::Crds => crds::print(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let error: BoxError = error;
            // If stderr is closed, the error cannot be reported.
            let _ = writeln!(std::io::stderr(), "mooring: {}", chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}
