//! What ends the controller, and what ends one request only.

use std::time::Duration;

use kube::core::Status;
use mooring_plan::outcome::Outcome;
use tokio::task::JoinError;

use crate::api::read::Unreadable;
use crate::cloud::CloudError;

/// Why the controller cannot go on. Nothing that EC2 or the API server says is among it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A task of it panicked: a fault of ours.
    #[error("{task} panicked")]
    Panicked {
        /// What it was doing.
        task: &'static str,
        /// What it said.
        #[source]
        source: JoinError,
    },
    /// A task that runs for ever ended.
    #[error("{task} ended by itself")]
    Ended {
        /// What it was doing.
        task: &'static str,
    },
}

/// Why a request to the API server fails, in a word each; EC2's are its outcomes.
const REASONS: [&str; 12] = [
    "Conflict",
    "Event",
    "Forbidden",
    "Invalid",
    "NotFound",
    "Refused",
    "ServerError",
    "Timeout",
    "TooManyRequests",
    "Unreachable",
    "Unreadable",
    "Watch",
];

/// Why one request did not do what it was to.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The API server refused it, or could not be reached.
    #[error("{doing}")]
    Api {
        /// What was being done, to which object.
        doing: String,
        #[source]
        source: kube::Error,
    },
    /// No answer: it may have been done.
    #[error("{doing}: no answer within {limit:?}")]
    Late { doing: String, limit: Duration },
    /// The object cannot be read.
    #[error("{doing}")]
    Unreadable {
        doing: String,
        #[source]
        source: Unreadable,
    },
    /// What was to be written cannot be.
    #[error("{doing}: it cannot be written as JSON")]
    Json {
        doing: String,
        #[source]
        source: serde_json::Error,
    },
    /// EC2 refused, or did not answer.
    #[error("EC2")]
    Cloud(#[from] CloudError),
}

impl Failure {
    /// Every word that [`Self::reason`] gives, and those that failures of watches and Events are counted by.
    pub(super) fn reasons() -> impl Iterator<Item = &'static str> {
        let of_ec2 = Outcome::ALL.into_iter().map(Outcome::as_str);
        REASONS.into_iter().chain(of_ec2)
    }

    /// One word, for the metric.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Api { source, .. } => match source {
                kube::Error::Api(status) => match status.code {
                    401 | 403 => "Forbidden",
                    404 => "NotFound",
                    409 => "Conflict",
                    422 => "Invalid",
                    429 => "TooManyRequests",
                    500.. => "ServerError",
                    _ => "Refused",
                },
                kube::Error::SerdeError(_) => "Unreadable",
                _ => "Unreachable",
            },
            Self::Late { .. } => "Timeout",
            Self::Unreadable { .. } | Self::Json { .. } => "Unreadable",
            Self::Cloud(error) => error.outcome.as_str(),
        }
    }

    /// What the API server said, if it said anything.
    pub(super) fn status(&self) -> Option<&Status> {
        match self {
            Self::Api {
                source: kube::Error::Api(status),
                ..
            } => Some(status),
            _ => None,
        }
    }

    pub(super) fn is_not_found(&self) -> bool {
        self.status().is_some_and(|status| status.code == 404)
    }

    pub(super) fn is_conflict(&self) -> bool {
        self.status().is_some_and(|status| status.code == 409)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use kube::core::Status;
    use mooring_plan::outcome::{Action, Outcome};

    use super::Failure;
    use crate::cloud::CloudError;

    fn answered(code: u16) -> Failure {
        let status = Status::failure("as the test has it", "Test").with_code(code);
        Failure::Api {
            doing: "a test".to_owned(),
            source: kube::Error::Api(status.boxed()),
        }
    }

    #[test]
    fn every_reason_is_among_those_that_are_counted_from_the_start() {
        let known: BTreeSet<_> = Failure::reasons().collect();
        let of_api = (400..=599).map(answered);
        let of_ec2 = Outcome::ALL.map(|outcome| {
            Failure::Cloud(CloudError {
                action: Action::Assign,
                object: "a test".to_owned(),
                outcome,
                code: "Test".to_owned(),
                message: String::new(),
                source: None,
            })
        });
        let late = Failure::Late {
            doing: "a test".to_owned(),
            limit: Duration::from_secs(1),
        };
        for failure in of_api.chain(of_ec2).chain([late]) {
            assert!(known.contains(failure.reason()), "{failure:?}");
        }
    }
}
