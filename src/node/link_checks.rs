//! What a network interface of the node needs, so that packets pass it.

use super::obstacle::{Obstacle, failed};
use super::state::{KernelState, Link};

/// Packets can pass the interface.
pub(super) fn check(link: &Link) -> Result<(), Obstacle> {
    if !link.up {
        return Err(failed(format!(
            "the network interface {} is down: bring it up",
            link.name
        )));
    }
    if !link.forwarding {
        return Err(failed(format!(
            "{} does not forward packets: set net.ipv4.conf.{}.forwarding to 1, as CNIs do",
            link.name, link.name
        )));
    }
    Ok(())
}

/// Without an address on the interface the kernel drops what arrives there, unless `rp_filter` is off for it and for all
/// interfaces. The node part sets only the first one: the other also protects the interfaces of others.
pub(super) fn check_reverse_path(
    index: u32,
    link: &Link,
    kernel: &KernelState,
) -> Result<(), Obstacle> {
    if kernel.all_reverse_path == 0 || kernel.has_address(index) {
        return Ok(());
    }
    Err(failed(format!(
        "{} has no IPv4 address, and net.ipv4.conf.all.rp_filter is {}, so the kernel drops what arrives there: give {} \
         an address, such as the primary one of the network interface, or set net.ipv4.conf.all.rp_filter to 0",
        link.name, kernel.all_reverse_path, link.name
    )))
}
