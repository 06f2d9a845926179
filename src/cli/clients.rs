//! Clients of the API server.

mod watch_start;

use std::time::Duration;

use kube::client::ClientBuilder;
use kube::{Client, Config};
use tower::layer::layer_fn;

use crate::supervise::BoxError;
use watch_start::WatchStart;

/// A connection without data is closed after this time. The server ends a watch after 45 s (R1.22), so that only a
/// half-open connection reaches the limit.
const READ_TIMEOUT: Duration = Duration::from_secs(55);
/// The same for the lease. A slower read or write is useless, because the renew deadline is 10 s.
const LEASE_READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for a connect.
const CONNECT: Duration = Duration::from_secs(5);

/// The Kubernetes clients of the process.
pub struct Clients {
    /// For all requests except those for the lease.
    pub general: Client,
    /// For the lease only, so that slow requests of others do not delay it.
    pub lease: Client,
}

/// Clients from the usual sources: `KUBECONFIG`, `~/.kube/config`, the service account of the pod.
pub async fn clients() -> Result<Clients, BoxError> {
    let mut config = Config::infer().await?;
    config.connect_timeout = Some(CONNECT);
    config.reset_reader_on_write = true;
    // Disable retries: kube would repeat a write up to 15 times, long after the decision. The caller decides on
    // retries.
    config.default_retry = false;
    let mut lease = config.clone();
    config.read_timeout = Some(READ_TIMEOUT);
    lease.read_timeout = Some(LEASE_READ_TIMEOUT);
    let general = ClientBuilder::try_from(config)?;
    Ok(Clients {
        general: general.with_layer(&layer_fn(WatchStart)).build(),
        lease: Client::try_from(lease)?,
    })
}
