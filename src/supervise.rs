//! The process's tasks: any that dies ends the process, and the end has an order.

mod http;

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

pub use http::serve as serve_http;

use crate::telemetry::{Part, Readiness, chain};

/// Any error of a task.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// When a task is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// At once: what takes decisions.
    Deciding,
    /// After the deciding has ended and the drain is over: what answers.
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

/// How long each part of the end may take.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// For what decides: a call of EC2 that is in flight ends by itself within 5 s, then the lease goes
    /// back.
    pub deciding: Duration,
    /// How long requests are still answered after that, so that the Service's endpoints can follow.
    pub drain: Duration,
    /// For answering what was asked before the drain was over.
    pub closing: Duration,
}

/// Why the process ended other than by being asked to.
#[derive(Debug, thiserror::Error)]
pub enum Died {
    /// A task failed.
    #[error("{task} failed")]
    Failed {
        /// Its name.
        task: &'static str,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// A task panicked: a fault of ours.
    #[error("{task} panicked")]
    Panicked {
        /// Its name.
        task: &'static str,
        /// What it said.
        #[source]
        source: JoinError,
    },
    /// A task ended without having been told to.
    #[error("{task} ended by itself")]
    Ended {
        /// Its name.
        task: &'static str,
    },
    /// Tasks did not end in their time.
    #[error("{tasks} did not end within {limit:?}")]
    Late {
        /// Their names.
        tasks: String,
        /// The time they had.
        limit: Duration,
    },
    /// A second signal came during the shutdown.
    #[error("ended at once at a second signal")]
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
    /// The next task that ends, and how. None when there is none left.
    async fn next(&mut self) -> Option<Result<&'static str, Died>> {
        let ended = self.running.join_next_with_id().await?;
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let task = self.names.remove(&id).unwrap_or("a task");
        Some(match ended {
            Ok((_, Ok(()))) => Ok(task),
            Ok((_, Err(source))) => Err(Died::Failed { task, source }),
            Err(source) => Err(Died::Panicked { task, source }),
        })
    }

    /// The first task that ends before it was asked to.
    async fn first_death(&mut self) -> Died {
        match self.next().await {
            Some(Ok(task)) => Died::Ended { task },
            Some(Err(died)) => died,
            None => std::future::pending().await,
        }
    }

    /// Tells all to end and waits for them, up to the limit. The first failure is returned.
    async fn end(&mut self, limit: Duration) -> Result<(), Died> {
        self.stop.cancel();
        let mut first = Ok(());
        let all = async {
            while let Some(ended) = self.next().await {
                if let Err(died) = ended {
                    tracing::error!(error = chain(&died), "a task did not end well");
                    first = std::mem::replace(&mut first, Ok(())).and(Err(died));
                }
            }
        };
        if tokio::time::timeout(limit, all).await.is_ok() {
            return first;
        }
        let mut names: Vec<_> = self.names.values().copied().collect();
        names.sort_unstable();
        self.running.abort_all();
        Err(Died::Late {
            tasks: names.join(", "),
            limit,
        })
    }
}

/// The tasks, and the order of their end.
pub struct Supervisor {
    deciding: Tasks,
    serving: Tasks,
    readiness: Readiness,
    times: Times,
}

impl Supervisor {
    /// Without a task yet.
    #[must_use]
    pub fn new(readiness: Readiness, times: Times) -> Self {
        Self {
            deciding: Tasks::default(),
            serving: Tasks::default(),
            readiness,
            times,
        }
    }

    /// What tells the tasks of a stage to end.
    #[must_use]
    pub fn stop(&self, stage: Stage) -> CancellationToken {
        match stage {
            Stage::Deciding => self.deciding.stop.clone(),
            Stage::Serving => self.serving.stop.clone(),
        }
    }

    /// Starts a task. It ends when its stage is told to, and not before.
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

    /// Starts a task that has no end of its own: it is dropped when its stage is told to end.
    pub fn spawn_endless<T>(&mut self, stage: Stage, name: &'static str, task: T)
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let stop = self.stop(stage);
        self.spawn(stage, name, async move {
            tokio::select! {
                () = stop.cancelled() => Ok::<(), Died>(()),
                () = task => Err(Died::Ended { task: name }),
            }
        });
    }

    /// Runs until a signal comes or a task dies, then ends the rest in order.
    ///
    /// # Errors
    /// A task died, did not end in its time, or a second signal came.
    pub async fn run(mut self, mut signals: mpsc::Receiver<&'static str>) -> Result<(), Died> {
        let died = tokio::select! {
            Some(signal) = signals.recv() => {
                tracing::info!(signal, "asked to end");
                None
            }
            died = self.deciding.first_death() => Some(died),
            died = self.serving.first_death() => Some(died),
        };
        if let Some(died) = &died {
            tracing::error!(error = chain(died), "a task died: ending the process");
        }
        self.readiness.set(Part::Running, false);
        let ended = tokio::select! {
            Some(_) = signals.recv() => Err(Died::ForcedShutdown),
            ended = self.end() => ended,
        };
        died.map_or(ended, Err)
    }

    async fn end(&mut self) -> Result<(), Died> {
        let decided = self.deciding.end(self.times.deciding).await;
        tracing::info!(drain = ?self.times.drain, "the deciding has ended, the webhook drains");
        let served = tokio::select! {
            () = tokio::time::sleep(self.times.drain) => self.serving.end(self.times.closing).await,
            died = self.serving.first_death() => {
                let _ = self.serving.end(self.times.closing).await;
                Err(died)
            }
        };
        decided.and(served)
    }
}

#[cfg(test)]
mod tests;
