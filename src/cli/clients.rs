//! Clients of the API server.

use std::time::Duration;

use kube::{Client, Config};

use crate::supervise::BoxError;

/// A connection without data is given up after this time. Watches end themselves after 45 s (R1.22), so
/// that only a half-open connection lasts longer.
const SILENCE: Duration = Duration::from_secs(55);
/// A write or a read of the lease that takes longer is of no use: the deadline for renewing is 10 s.
const LEASE_SILENCE: Duration = Duration::from_secs(5);
/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(5);

/// The clients that the process has.
pub struct Clients {
    /// For everything but the lease.
    pub general: Client,
    /// For the lease alone: nothing that is slow for others makes it late.
    pub lease: Client,
}

/// Clients by the usual chain: `KUBECONFIG`, `~/.kube/config`, the pod's service account.
pub async fn clients() -> Result<Clients, BoxError> {
    let mut config = Config::infer().await?;
    config.connect_timeout = Some(CONNECT);
    config.reset_reader_on_write = true;
    // They would repeat a write long after it was decided on, up to 15 times: what is repeated is the
    // caller's decision.
    config.default_retry = false;
    let mut lease = config.clone();
    config.read_timeout = Some(SILENCE);
    lease.read_timeout = Some(LEASE_SILENCE);
    Ok(Clients {
        general: Client::try_from(config)?,
        lease: Client::try_from(lease)?,
    })
}
