//! When the kernel is reconciled: after each event, at intervals, and again after a failure.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout_at};

use super::desired::unreadable;
use super::kernel::{KernelError, KernelEvents, Part};
use super::objects::Objects;
use super::reconcile::{NodeReconciler, Reports};
use crate::telemetry::chain;

/// Interval of the full comparison that is made without any event.
const RESYNC: Duration = Duration::from_secs(30);
/// How long further events are collected after a first one: one command causes several events.
const SETTLE: Duration = Duration::from_millis(10);
/// Wait before a retry after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// Number of failed reads of the kernel in a row from which on nothing is known about any address.
const UNREADABLE: u32 = 3;
/// Reconciles the kernel until the sender of the objects is dropped. Sends the reports to `reports`. While there are no
/// objects, nothing is known, and the kernel is not changed.
///
/// # Errors
/// The kernel notifications cannot be subscribed to.
pub async fn run(
    mut reconciler: NodeReconciler,
    mut events: KernelEvents,
    mut objects: watch::Receiver<Option<Objects>>,
    reports: watch::Sender<Reports>,
) -> Result<(), KernelError> {
    let mut resync = interval(RESYNC);
    resync.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut retry, mut failures) = (None::<Instant>, 0_u32);
    loop {
        let part = tokio::select! {
            changed = objects.changed() => match changed {
                // The stored table is still valid: each change of it would have caused an event.
                Ok(()) => Part::Routes,
                Err(_) => return Ok(()),
            },
            part = events.next() => settle(&mut events, part).await,
            _ = resync.tick() => Part::All,
            () = sleep_until(retry.unwrap_or_else(Instant::now)), if retry.is_some() => Part::All,
        };
        let Some(wanted) = objects.borrow_and_update().clone() else {
            continue;
        };
        let reported;
        (reported, retry) = match reconciler.reconcile(&wanted, part).await {
            Ok(outcome) => {
                failures = 0;
                for error in &outcome.errors {
                    tracing::warn!(error = chain(error), "the kernel refused a change");
                }
                for change in &outcome.changes {
                    tracing::info!(%change, "changed the kernel");
                }
                let retry = (!outcome.errors.is_empty()).then(|| Instant::now() + RETRY);
                (Some(outcome.reports), retry)
            }
            Err(error) => {
                let reason = chain(&error);
                tracing::warn!(error = reason, "the kernel cannot be compared");
                failures = failures.saturating_add(1);
                // One failure can be an accident of one run of `nft`: the last reports stay.
                let lasts = failures >= UNREADABLE;
                let reported = lasts.then(|| unreadable(&wanted, &reason));
                (reported, Some(Instant::now() + RETRY))
            }
        };
        let Some(reported) = reported else { continue };
        reports.send_if_modified(|before| {
            let differs = *before != reported;
            *before = reported;
            differs
        });
    }
}

async fn settle(events: &mut KernelEvents, first: Part) -> Part {
    let end = Instant::now() + SETTLE;
    let mut changed = first;
    // Check the clock: if events are always ready, `timeout_at` never reports that the time is over.
    while Instant::now() < end {
        match timeout_at(end, events.next()).await {
            Ok(next) if next != changed => changed = Part::All,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    changed
}
