//! Supervises the tasks of the process: if a task ends unexpectedly, the process ends. The shutdown is in order.

mod http;

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

pub use http::serve as serve_http;

use crate::telemetry::{Readiness, Requirement, chain};

/// Any error of a task.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// The stage of the shutdown in which a task is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Stopped first: tasks that make decisions.
    Deciding,
    /// Stopped after the deciding tasks have ended and the drain is over: tasks that answer requests.
    Serving,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deciding => "deciding",
            Self::Serving => "serving",
        })
    }
}

/// Time limits of the shutdown.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Time limit for the deciding tasks. A call in flight that changes EC2 ends within 5 s, then the lease is released.
    pub deciding: Duration,
    /// How long requests are still answered after that, so that the endpoints of the Service can be updated.
    pub drain: Duration,
    /// Time limit for the answers to requests that arrived before the end of the drain.
    pub closing: Duration,
}

/// Why the process ended without a signal, or not in order.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// A task failed.
    #[error("{task} failed")]
    Failed {
        /// The name of the task.
        task: &'static str,
        /// The error of the task.
        #[source]
        source: BoxError,
    },
    /// A task panicked, because of a bug in Mooring.
    #[error("{task} panicked")]
    Panicked {
        /// The name of the task.
        task: &'static str,
        /// The panic.
        #[source]
        source: JoinError,
    },
    /// A task ended without being stopped.
    #[error("{task} ended unexpectedly")]
    Ended {
        /// The name of the task.
        task: &'static str,
    },
    /// Tasks did not end within their time limit.
    #[error("{tasks} did not end within {limit:?}")]
    Late {
        /// The names of the tasks, comma-separated.
        tasks: String,
        /// The time limit.
        limit: Duration,
    },
    /// A second signal arrived during the shutdown.
    #[error("shutdown was forced by a second signal")]
    ForcedShutdown,
}

/// The tasks of one stage.
#[derive(Default)]
struct Tasks {
    running: JoinSet<Result<(), BoxError>>,
    names: HashMap<Id, &'static str>,
    stop: CancellationToken,
}

impl Tasks {
    /// The result of the next task that ends. None: no task is left.
    async fn next(&mut self) -> Option<Result<&'static str, SupervisorError>> {
        let ended = self.running.join_next_with_id().await?;
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let task = self.names.remove(&id).unwrap_or("a task");
        Some(match ended {
            Ok((_, Ok(()))) => Ok(task),
            Ok((_, Err(source))) => Err(SupervisorError::Failed { task, source }),
            Err(source) => Err(SupervisorError::Panicked { task, source }),
        })
    }

    /// Waits for the first task that ends without being stopped.
    async fn first_failure(&mut self) -> SupervisorError {
        match self.next().await {
            Some(Ok(task)) => SupervisorError::Ended { task },
            Some(Err(failure)) => failure,
            None => std::future::pending().await,
        }
    }

    /// Stops all tasks and waits for them, up to the limit. Returns the first failure.
    async fn end(&mut self, limit: Duration) -> Result<(), SupervisorError> {
        self.stop.cancel();
        let mut first = Ok(());
        let all = async {
            while let Some(ended) = self.next().await {
                if let Err(failure) = ended {
                    tracing::error!(error = chain(&failure), "a task failed during the shutdown");
                    first = std::mem::replace(&mut first, Ok(())).and(Err(failure));
                }
            }
        };
        if tokio::time::timeout(limit, all).await.is_ok() {
            return first;
        }
        let mut names: Vec<_> = self.names.values().copied().collect();
        names.sort_unstable();
        self.running.abort_all();
        Err(SupervisorError::Late {
            tasks: names.join(", "),
            limit,
        })
    }
}

/// Runs the tasks, and ends them in order.
pub struct Supervisor {
    deciding: Tasks,
    serving: Tasks,
    readiness: Readiness,
    times: Times,
}

impl Supervisor {
    /// A supervisor without tasks.
    #[must_use]
    pub fn new(readiness: Readiness, times: Times) -> Self {
        Self {
            deciding: Tasks::default(),
            serving: Tasks::default(),
            readiness,
            times,
        }
    }

    /// The token that stops the tasks of a stage.
    #[must_use]
    pub fn stop(&self, stage: Stage) -> CancellationToken {
        match stage {
            Stage::Deciding => self.deciding.stop.clone(),
            Stage::Serving => self.serving.stop.clone(),
        }
    }

    /// Starts a task. It must end when the token of its stage is cancelled, and not before.
    pub fn spawn<T, E>(&mut self, stage: Stage, name: &'static str, task: T)
    where
        T: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        let tasks = match stage {
            Stage::Deciding => &mut self.deciding,
            Stage::Serving => &mut self.serving,
        };
        let handle = tasks
            .running
            .spawn(async move { task.await.map_err(Into::into) });
        tasks.names.insert(handle.id(), name);
    }

    /// Starts a task that never ends by itself. It is dropped when its stage is stopped.
    pub fn spawn_endless<T>(&mut self, stage: Stage, name: &'static str, task: T)
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let stop = self.stop(stage);
        self.spawn(stage, name, async move {
            tokio::select! {
                () = stop.cancelled() => Ok::<(), SupervisorError>(()),
                () = task => Err(SupervisorError::Ended { task: name }),
            }
        });
    }

    /// Runs until a signal arrives or a task ends unexpectedly, then ends the other tasks in order.
    ///
    /// # Errors
    /// A task ended unexpectedly or not within its time limit, or a second signal arrived.
    pub async fn run(
        mut self,
        mut signals: mpsc::Receiver<&'static str>,
    ) -> Result<(), SupervisorError> {
        let failure = tokio::select! {
            Some(signal) = signals.recv() => {
                tracing::info!(signal, "shutdown requested");
                None
            }
            failure = self.deciding.first_failure() => Some(failure),
            failure = self.serving.first_failure() => Some(failure),
        };
        if let Some(failure) = &failure {
            tracing::error!(error = chain(failure), "a task failed: ending the process");
        }
        self.readiness.set(Requirement::Running, false);
        let ended = tokio::select! {
            Some(_) = signals.recv() => Err(SupervisorError::ForcedShutdown),
            ended = self.end() => ended,
        };
        failure.map_or(ended, Err)
    }

    async fn end(&mut self) -> Result<(), SupervisorError> {
        let decided = self.deciding.end(self.times.deciding).await;
        tracing::info!(drain = ?self.times.drain, "the controller has stopped; draining the webhook");
        let served = tokio::select! {
            () = tokio::time::sleep(self.times.drain) => self.serving.end(self.times.closing).await,
            failure = self.serving.first_failure() => {
                let _ = self.serving.end(self.times.closing).await;
                Err(failure)
            }
        };
        decided.and(served)
    }
}

#[cfg(test)]
mod tests;
