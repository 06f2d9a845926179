//! The size of the load on the webhook.

use std::time::Duration;

/// The size of the load. `make verify` runs the full load on a separate machine and compares latencies. In a run with
/// other scenes, the load is just large enough to use all connections that the webhook allows.
#[derive(Clone, Copy)]
pub struct Load {
    pub reviews: usize,
    /// The time between two reviews. 10 ms corresponds to 100 created pods per second.
    pub pause: Duration,
    pub idle: usize,
    pub slow: usize,
    /// The time between two connections that send no TLS.
    pub malformed_every: Duration,
    /// The number of clients that ask for IPs that do not exist, one review after the other.
    pub asking: usize,
    pub timed: bool,
}

impl Load {
    pub fn from_environment() -> Self {
        if std::env::var_os("MOORING_ABUSE").is_some() {
            return Self {
                reviews: 3000,
                pause: Duration::from_millis(10),
                idle: 10_000,
                slow: 200,
                malformed_every: Duration::from_millis(4),
                asking: 64,
                timed: true,
            };
        }
        Self {
            reviews: 100,
            pause: Duration::from_millis(100),
            idle: 1500,
            slow: 20,
            malformed_every: Duration::from_millis(50),
            asking: 8,
            timed: false,
        }
    }
}
