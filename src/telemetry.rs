//! The log and the readiness of the process.

mod readiness;

use std::error::Error as StdError;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

pub use readiness::{Readiness, Requirement};

/// The log filter if `RUST_LOG` is not set: messages of the SDK and of kube only from level `warn`.
const DEFAULT_FILTER: &str = "info,aws_config=warn,aws_smithy_runtime=warn,hyper=warn,kube=warn";

/// The format of the log.
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
    /// `RUST_LOG` cannot be parsed.
    #[error("RUST_LOG cannot be read: give levels such as `info` or `mooring=debug,kube=warn`")]
    Filter(#[source] tracing_subscriber::filter::FromEnvError),
    /// A subscriber is installed already.
    #[error("a log has been set up already")]
    Twice(#[source] Box<dyn StdError + Send + Sync>),
}

/// Sets up the log on stderr. Stdout is for the output of commands.
///
/// # Errors
/// `RUST_LOG` cannot be parsed, or a log has been set up already.
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

/// Formats a time in seconds since 1970.
#[must_use]
pub fn date(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| seconds.to_string(), |date| date.to_string())
}

/// An error with all its sources, on one line.
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
