//! Free loopback ports.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// The first port. The kernel uses ports from 32768 on for outgoing connections, so they could
/// be taken between this check and the bind of the server.
const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A free port of 127.0.0.1 that this process has not returned before.
pub fn free_port() -> u16 {
    // Test processes that run at the same time begin with different ports.
    let offset = std::process::id().wrapping_mul(97) % COUNT;
    for _ in 0..COUNT {
        let port = FIRST + (offset + NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = u16::try_from(port).expect("the range ends below 65536");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!(
        "no free loopback port between {FIRST} and {}",
        FIRST + COUNT
    );
}
