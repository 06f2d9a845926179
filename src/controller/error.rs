//! What ends the controller, and what ends one request only.

use std::time::Duration;

use kube::core::Status;
use mooring_plan::names::SubnetId;
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
    /// An answer that leaves out what was asked for.
    #[error("EC2 does not know subnet {0}")]
    NoSubnet(SubnetId),
}

impl Failure {
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
            Self::Unreadable { .. } | Self::Json { .. } | Self::NoSubnet(_) => "Unreadable",
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
