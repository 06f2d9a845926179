//! Serves EC2 for tests on a port, until the process is terminated.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{ArgAction, Parser};
use ec2_emulator::front::settings::{Latency, Settings};
use ec2_emulator::front::{Emulator, serve};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// The address rules of EC2 behind the EC2 Query protocol, for tests.
#[derive(Debug, Parser)]
#[command(name = "ec2-emulator")]
struct Arguments {
    /// Address and port; port 0 takes a free one, which is printed.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The age of the answer of a Describe in milliseconds.
    #[arg(long, default_value_t = 0)]
    lag_ms: u64,
    /// How long each call takes before it is executed, in milliseconds.
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// Whether calls are throttled as EC2 does it.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    token_buckets: bool,
}

/// The errors of the start.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot print where it listens")]
    Print(#[source] io::Error),
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .init();
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::error!(cause, "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), Error> {
    let failed = |source| Error::Listen {
        address: arguments.listen,
        source,
    };
    let listener = TcpListener::bind(arguments.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let emulator = Emulator::new(Settings {
        lag_ms: arguments.lag_ms,
        latency_ms: Latency {
            default: arguments.latency_ms,
            ..Latency::default()
        },
        token_buckets: arguments.token_buckets,
    });
    let mut stdout = io::stdout();
    writeln!(stdout, "listening on {address}")
        .and_then(|()| stdout.flush())
        .map_err(Error::Print)?;
    match serve(listener, emulator).await {}
}
