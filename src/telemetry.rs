//! What the process says of itself: its log, and whether it is ready.

mod readiness;

use std::error::Error as StdError;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

pub use readiness::{Part, Readiness};

/// What is logged unless `RUST_LOG` says otherwise: the SDK's and kube's own news only when something
/// is wrong.
const DEFAULT_FILTER: &str = "info,aws_config=warn,aws_smithy_runtime=warn,hyper=warn,kube=warn";

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The log could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `RUST_LOG` is there and makes no sense.
    #[error("RUST_LOG cannot be read: give levels such as `info` or `mooring=debug,kube=warn`")]
    Filter(#[source] tracing_subscriber::filter::FromEnvError),
    /// Another subscriber is there already.
    #[error("a log has been set up already")]
    Twice(#[source] Box<dyn StdError + Send + Sync>),
}

/// Sets up the process's log, on stderr: stdout belongs to commands' output.
///
/// # Errors
/// `RUST_LOG` cannot be read, or a log has been set up already.
pub fn init(format: LogFormat) -> Result<(), Error> {
    let filter = match std::env::var_os(EnvFilter::DEFAULT_ENV) {
        Some(text) if !text.is_empty() => {
            EnvFilter::try_from_default_env().map_err(Error::Filter)?
        }
        _ => EnvFilter::new(DEFAULT_FILTER),
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => {
            use std::io::IsTerminal as _;
            log.with_ansi(std::io::stderr().is_terminal()).try_init()
        }
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    }
    .map_err(Error::Twice)
}

/// A moment, given in seconds since 1970, as people read it.
#[must_use]
pub fn date(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| seconds.to_string(), |date| date.to_string())
}

/// An error with everything that lies beneath it, on one line.
#[must_use]
pub fn chain(error: &(dyn StdError + 'static)) -> String {
    std::iter::successors(Some(error), |&error| error.source())
        .map(ToString::to_string)
        .reduce(|text, beneath| {
            if text.contains(&beneath) {
                text
            } else {
                format!("{text}: {beneath}")
            }
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn a_date_is_no_number() {
        assert_eq!(date(67_090_118_400), "4096-01-01T00:00:00Z");
        assert_eq!(date(i64::MAX), i64::MAX.to_string());
    }
}
