//! Waits for conditions instead of fixed times.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::process::tail;

/// The result of a probe: not yet, or a value.
pub trait Probe {
    /// The value when the condition holds.
    type Value;
    /// The value, or the present state.
    fn outcome(self) -> Result<Self::Value, String>;
}

impl Probe for bool {
    type Value = ();
    fn outcome(self) -> Result<(), String> {
        if self {
            Ok(())
        } else {
            Err("false".to_owned())
        }
    }
}

impl<T> Probe for Option<T> {
    type Value = T;
    fn outcome(self) -> Result<T, String> {
        self.ok_or_else(|| "nothing".to_owned())
    }
}

impl<T, E: Debug> Probe for Result<T, E> {
    type Value = T;
    fn outcome(self) -> Result<T, String> {
        self.map_err(|error| format!("{error:?}"))
    }
}

/// The pauses between looks: short at first, and never long. Each look costs the API server a request, and most waits
/// either end at once or are for a time of Kubernetes.
pub struct Pauses(Duration);

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_millis(250);

impl Pauses {
    /// Before the first look.
    pub const fn start() -> Self {
        Self(FIRST)
    }

    /// Waits for the next pause.
    pub async fn next(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 3 / 2).min(LONGEST);
    }
}

/// Waits until `look` succeeds. After `limit`, returns the last state.
///
/// # Errors
/// The last state that `look` returned.
pub async fn wait<P: Probe, F: Future<Output = P>>(
    limit: Duration,
    mut look: impl FnMut() -> F,
) -> Result<P::Value, String> {
    let (begin, mut pauses) = (Instant::now(), Pauses::start());
    loop {
        match look().await.outcome() {
            Ok(value) => return Ok(value),
            Err(seen) if begin.elapsed() >= limit => return Err(seen),
            Err(_) => pauses.next().await,
        }
    }
}

/// Waits until `look` succeeds. `sentence` describes the expected state.
///
/// # Panics
/// After `limit`, with the last state.
pub async fn eventually<P: Probe, F: Future<Output = P>>(
    sentence: &str,
    limit: Duration,
    look: impl FnMut() -> F,
) -> P::Value {
    let begin = Instant::now();
    let found = wait(limit, look)
        .await
        .unwrap_or_else(|seen| panic!("not within {limit:?}: {sentence}\nlast seen: {seen}"));
    report_if_close(sentence, begin.elapsed(), limit);
    found
}

/// Prints expectations that took more than half of their limit, because they could fail on a slower machine.
pub fn report_if_close(sentence: &str, took: Duration, limit: Duration) {
    if took > limit / 2 {
        println!("close: {took:.1?} of {limit:?}: {sentence}");
    }
}

/// Checks that `look` succeeds during the whole `period`. `sentence` describes the expected state.
///
/// # Panics
/// As soon as `look` fails.
pub async fn remains<P: Probe, F: Future<Output = P>>(
    sentence: &str,
    period: Duration,
    mut look: impl FnMut() -> F,
) {
    let (begin, mut pauses) = (Instant::now(), Pauses::start());
    while begin.elapsed() < period {
        if let Err(seen) = look().await.outcome() {
            panic!(
                "no longer after {:?}: {sentence}\nseen: {seen}",
                begin.elapsed()
            );
        }
        pauses.next().await;
    }
}

impl Cluster {
    /// As [`eventually`]. A failure also shows objects, Events, calls of EC2, and the log of Mooring.
    ///
    /// # Panics
    /// After `limit`.
    pub async fn eventually<P: Probe, F: Future<Output = P>>(
        &self,
        sentence: &str,
        limit: Duration,
        look: impl FnMut() -> F,
    ) -> P::Value {
        let begin = Instant::now();
        match wait(limit, look).await {
            Ok(value) => {
                report_if_close(sentence, begin.elapsed(), limit);
                value
            }
            Err(seen) => {
                let evidence = self.evidence().await;
                panic!("not within {limit:?}: {sentence}\nlast seen: {seen}\n{evidence}")
            }
        }
    }

    /// The diagnostics of a failed test.
    pub async fn evidence(&self) -> String {
        let mut parts = Vec::new();
        for arguments in [
            "get ips,ipblocks,ipaddresses -o wide --ignore-not-found",
            "get ips -o yaml --ignore-not-found",
            "get pods -A -o wide",
            "get nodes",
            "get events -A --sort-by=.metadata.creationTimestamp",
        ] {
            let output = self.kubectl(arguments.split(' ')).await;
            let (stdout, stderr) = (tail(&output.stdout, 60), output.stderr);
            parts.push(format!("--- kubectl {arguments}\n{stdout}\n{stderr}"));
        }
        parts.push("--- EC2, the last mutations".to_owned());
        let history = self.ec2().history().await;
        let last = history.iter().skip(history.len().saturating_sub(20));
        parts.extend(last.map(ToString::to_string));
        for log in self.mooring_logs() {
            let lines = std::fs::read_to_string(&log).unwrap_or_default();
            parts.push(format!("--- {}\n{}", log.display(), tail(&lines, 60)));
        }
        parts.push(format!("--- all logs: {}/logs", self.folder().display()));
        parts.join("\n")
    }
}
