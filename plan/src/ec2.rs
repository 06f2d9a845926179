//! The rules of EC2 that decisions rely on, each with its source. The account's own answers are in `cloud.rs`.

use core::time::Duration;

use crate::address::{Address, Cidr, Span, span};
use crate::outcome::Action;

/// Addresses at the start of every subnet that AWS keeps for itself: network, router, DNS, future
/// use (VPC User Guide, "Subnet CIDR blocks"). The last one, broadcast, is kept too.
const RESERVED_AT_START: u32 = 4;

/// The most instance types in one `DescribeInstanceTypes` (EC2 API reference).
pub(crate) const TYPES_AT_ONCE: usize = 100;

/// The tag that keeps the VPC CNI off an interface (VPC CNI, "CNI Configuration Variables").
pub(crate) const NO_MANAGE: &str = "node.k8s.amazonaws.com/no_manage";

/// A call may still take effect for this long after it was sent. EC2 names no bound: this one is ours (R5.23).
pub(crate) const LATE_CALL: Duration = Duration::from_secs(10);

/// What an inventory says against our own write is accepted only from one begun at least this long after it: Describe may lag
/// (EC2 API reference, "Eventual consistency", without a bound: this one is ours), and a repair that is not needed
/// costs the holder its readiness (R1.14, R5.23).
pub(crate) const DESCRIBE_LAG: Duration = Duration::from_secs(10);

/// The size of an action's token bucket, and its tokens per second (EC2 API reference, "Request throttling").
pub(crate) const fn token_bucket(action: Action) -> (u64, u64) {
    match action {
        Action::Assign | Action::Unassign => (100, 5),
        // Filtered or paged: all of ours are.
        Action::DescribeInterfaces
        | Action::DescribeInstances
        | Action::DescribeInstanceStatus
        | Action::DescribeInstanceTypes
        | Action::DescribeSubnets => (100, 20),
    }
}

/// Whether AWS keeps this address of this subnet CIDR for itself.
#[must_use]
pub fn reserved(address: Address, subnet: Cidr) -> bool {
    let (first, last) = span(subnet);
    let (_, at_start) = reserved_at_start(subnet);
    let address = u32::from(address);
    (first..=at_start).contains(&address) || address == last
}

/// The addresses at the start of a subnet CIDR that AWS keeps.
pub(crate) fn reserved_at_start(subnet: Cidr) -> Span {
    let (first, last) = span(subnet);
    (first, first.saturating_add(RESERVED_AT_START - 1).min(last))
}
