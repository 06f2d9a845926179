use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;

use super::{Stage, Supervisor, SupervisorError, Times};
use crate::telemetry::{Readiness, Requirement};

const TIMES: Times = Times {
    deciding: Duration::from_millis(100),
    drain: Duration::from_millis(10),
    closing: Duration::from_mins(1),
};

/// Runs the supervisor with a time limit, so that an error fails the test instead of blocking it.
async fn ended(
    supervisor: Supervisor,
    signals: mpsc::Receiver<&'static str>,
) -> Result<(), SupervisorError> {
    let limit = Duration::from_secs(20);
    let ended = tokio::time::timeout(limit, supervisor.run(signals)).await;
    ended.unwrap_or_else(|_| panic!("it has not ended within {limit:?}"))
}

type Log = Arc<Mutex<Vec<&'static str>>>;

/// A task that ends when it is cancelled, and logs it.
fn obedient(supervisor: &mut Supervisor, stage: Stage, name: &'static str, log: &Log) {
    let (stop, log) = (supervisor.stop(stage), Arc::clone(log));
    supervisor.spawn(stage, name, async move {
        stop.cancelled().await;
        log.lock().unwrap().push(name);
        Ok::<(), std::io::Error>(())
    });
}

fn supervisor() -> (Supervisor, Readiness, Log) {
    let readiness = Readiness::new();
    let mut supervisor = Supervisor::new(readiness.clone(), TIMES);
    let log = Log::default();
    obedient(&mut supervisor, Stage::Serving, "webhook", &log);
    obedient(&mut supervisor, Stage::Deciding, "controller", &log);
    (supervisor, readiness, log)
}

#[tokio::test]
async fn a_signal_stops_the_controller_then_drains_then_stops_the_servers() {
    let (supervisor, readiness, log) = supervisor();
    let (signal, signals) = mpsc::channel(1);
    signal.send("SIGTERM").await.unwrap();
    ended(supervisor, signals).await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["controller", "webhook"]);
    assert!(readiness.missing().contains(&Requirement::Running));
}

#[tokio::test]
async fn a_task_that_fails_ends_all_others_in_order() {
    let (mut supervisor, _, log) = supervisor();
    supervisor.spawn(Stage::Serving, "metrics", async {
        Err(std::io::Error::other("no socket"))
    });
    let (_signal, signals) = mpsc::channel(1);
    let failure = ended(supervisor, signals).await.unwrap_err();
    assert!(
        matches!(
            failure,
            SupervisorError::Failed {
                task: "metrics",
                ..
            }
        ),
        "{failure:?}"
    );
    assert_eq!(*log.lock().unwrap(), ["controller", "webhook"]);
}

#[tokio::test]
async fn a_task_that_panics_ends_the_process() {
    let (mut supervisor, _, log) = supervisor();
    supervisor.spawn(Stage::Deciding, "broken", async {
        assert!(log_is_impossible(), "a fault of ours");
        Ok::<(), std::io::Error>(())
    });
    let (_signal, signals) = mpsc::channel(1);
    let failure = ended(supervisor, signals).await.unwrap_err();
    assert!(
        matches!(failure, SupervisorError::Panicked { task: "broken", .. }),
        "{failure:?}"
    );
    assert_eq!(*log.lock().unwrap(), ["controller", "webhook"]);
}

/// False, but not known to the compiler.
fn log_is_impossible() -> bool {
    std::env::args().next().is_none()
}

#[tokio::test]
async fn a_task_that_ends_by_itself_ends_the_process() {
    let (mut supervisor, _, _) = supervisor();
    supervisor.spawn(Stage::Deciding, "quitter", async {
        Ok::<(), std::io::Error>(())
    });
    let (_signal, signals) = mpsc::channel(1);
    let failure = ended(supervisor, signals).await.unwrap_err();
    assert!(
        matches!(failure, SupervisorError::Ended { task: "quitter" }),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_task_that_exceeds_its_time_is_named_and_the_webhook_still_drains() {
    let (mut supervisor, _, log) = supervisor();
    supervisor.spawn(
        Stage::Deciding,
        "stuck",
        std::future::pending::<Result<(), std::io::Error>>(),
    );
    let (signal, signals) = mpsc::channel(1);
    signal.send("SIGTERM").await.unwrap();
    let failure = ended(supervisor, signals).await.unwrap_err();
    assert!(
        matches!(&failure, SupervisorError::Late { tasks, .. } if tasks == "stuck"),
        "{failure:?}"
    );
    assert_eq!(*log.lock().unwrap(), ["controller", "webhook"]);
}

#[tokio::test]
async fn a_second_signal_ends_at_once() {
    let (mut supervisor, _, _) = supervisor();
    supervisor.times.deciding = Duration::MAX;
    supervisor.spawn(
        Stage::Deciding,
        "stuck",
        std::future::pending::<Result<(), std::io::Error>>(),
    );
    let (signal, signals) = mpsc::channel(2);
    signal.send("SIGTERM").await.unwrap();
    signal.send("SIGTERM").await.unwrap();
    let failure = ended(supervisor, signals).await.unwrap_err();
    assert!(
        matches!(failure, SupervisorError::ForcedShutdown),
        "{failure:?}"
    );
}

#[tokio::test]
async fn an_endless_task_is_dropped_at_its_stage_and_must_not_end_before() {
    let (mut supervisor, _, log) = supervisor();
    supervisor.spawn_endless(Stage::Serving, "watch", std::future::pending());
    let (signal, signals) = mpsc::channel(1);
    signal.send("SIGTERM").await.unwrap();
    ended(supervisor, signals).await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["controller", "webhook"]);

    let (mut supervisor, _, _) = self::supervisor();
    supervisor.spawn_endless(Stage::Serving, "watch", std::future::ready(()));
    let (_signal, signals) = mpsc::channel(1);
    let failure = ended(supervisor, signals).await.unwrap_err();
    assert!(
        matches!(failure, SupervisorError::Failed { task: "watch", .. }),
        "{failure:?}"
    );
}
