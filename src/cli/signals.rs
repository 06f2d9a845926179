//! Signals that end the process.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::supervise::BoxError;

/// A channel that receives the name of each SIGTERM and SIGINT.
pub fn signals() -> Result<mpsc::Receiver<&'static str>, BoxError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (sender, signals) = mpsc::channel(2);
    tokio::spawn(async move {
        loop {
            let name = tokio::select! {
                Some(()) = terminate.recv() => "SIGTERM",
                Some(()) = interrupt.recv() => "SIGINT",
                else => break,
            };
            if sender.send(name).await.is_err() {
                break;
            }
        }
    });
    Ok(signals)
}
