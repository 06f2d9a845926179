//! Errors that end the controller, and failures of single requests.

use kube::core::Status;
use mooring_plan::outcome::Outcome;
use tokio::task::JoinError;

use crate::api::read::Unreadable;
use crate::api::request::RequestError;
use crate::cloud::CloudError;

/// Why the controller ended. No answer of EC2 or of the API server ends it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A task panicked, because of a bug in Mooring.
    #[error("{task} panicked")]
    Panicked {
        /// The name of the task.
        task: &'static str,
        /// The panic.
        #[source]
        source: JoinError,
    },
    /// A task that must not end has ended.
    #[error("{task} ended unexpectedly")]
    Ended {
        /// The name of the task.
        task: &'static str,
    },
}

/// The metric labels for failed requests to the API server. Those of EC2 are its outcomes.
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

/// Why one request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The API server refused it, could not be reached, or did not answer in time.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The object cannot be parsed.
    #[error("{doing}")]
    Unreadable {
        doing: String,
        #[source]
        source: Unreadable,
    },
    /// The object to write cannot be converted to JSON.
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
    /// All values that [`Self::reason`] can return, and those that count failures of watches and Events.
    pub(super) fn reasons() -> impl Iterator<Item = &'static str> {
        let of_ec2 = Outcome::ALL.iter().map(|outcome| outcome.as_str());
        REASONS.into_iter().chain(of_ec2)
    }

    /// The label for the metric, in one word.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Request(RequestError::Api { source, .. }) => match source {
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
            Self::Request(RequestError::Late { .. }) => "Timeout",
            Self::Unreadable { .. } | Self::Json { .. } => "Unreadable",
            Self::Cloud(error) => error.outcome.as_str(),
        }
    }

    /// The `Status` that the API server answered. None: there was no such answer.
    pub(super) fn status(&self) -> Option<&Status> {
        match self {
            Self::Request(RequestError::Api {
                source: kube::Error::Api(status),
                ..
            }) => Some(status),
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
    use crate::api::request::RequestError;
    use crate::cloud::CloudError;

    fn answered(code: u16) -> Failure {
        let status = Status::failure("as the test has it", "Test").with_code(code);
        Failure::Request(RequestError::Api {
            doing: "a test".to_owned(),
            source: kube::Error::Api(status.boxed()),
        })
    }

    #[test]
    fn every_reason_is_among_those_that_are_counted_from_the_start() {
        let known: BTreeSet<_> = Failure::reasons().collect();
        let of_api = (400..=599).map(answered);
        let of_ec2 = Outcome::ALL.iter().map(|outcome| {
            Failure::Cloud(CloudError {
                action: Action::Assign,
                object: "a test".to_owned(),
                outcome: *outcome,
                code: "Test".to_owned(),
                message: String::new(),
                source: None,
            })
        });
        let late = Failure::Request(RequestError::Late {
            doing: "a test".to_owned(),
            limit: Duration::from_secs(1),
        });
        for failure in of_api.chain(of_ec2).chain([late]) {
            assert!(known.contains(failure.reason()), "{failure:?}");
        }
    }
}
