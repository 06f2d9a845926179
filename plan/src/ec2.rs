//! Fixed rules and limits of EC2 that decisions use, each with its source. Types for its answers are in `cloud.rs`.
//!
//! Rules that are not a number, and where they are used. None was tried on a real account:
//! - A call attaches or detaches all of its addresses or none (EC2 API reference, `AssignPrivateIpAddresses`):
//!   `step/call.rs`.
//! - Without `AllowReassignment` EC2 refuses an Assign if another ENI has the address (the same page). EC2 has no other
//!   fencing: `cloud.rs`, `Reassign`.
//! - An Assign that names addresses creates neither primary addresses nor prefixes, and moves neither (for prefixes not
//!   confirmed: docs/design/ec2.md, "AssignPrivateIpAddresses"): `facts/immovable.rs`.
//! - `DescribeInstanceTypes` refuses all types if it does not know one (docs/design/ec2.md, "Limits and throttling"):
//!   `facts/apply/limits.rs`.
//! - A list with a filter for a subnet of another account or region is empty, without an error (our assumption):
//!   `facts/existence.rs`.
//! - A Describe can show a change late, and "no such object" proves nothing (EC2 API reference, "Eventual consistency"):
//!   `facts/node_pace.rs`, `nodes.rs`.
//! - A terminated instance is shown for about an hour (EC2 User Guide, "Terminate instances"): `cloud.rs`,
//!   `InstanceState`.

use core::time::Duration;

use crate::address::{Address, Cidr, Span, span};
use crate::outcome::Action;

/// The addresses that AWS reserves in each subnet, in words.
pub(crate) const RESERVED_IN_WORDS: &str = "the first four and the last one";

/// Number of addresses that AWS reserves at the start of each subnet: network, router, DNS, future use (VPC User Guide,
/// "Subnet CIDR blocks"). The last address, broadcast, is reserved too.
const RESERVED_AT_START: u32 = 4;

/// Maximum number of addresses in one Assign or Unassign: no ENI can have more (EC2 User Guide, "IP addresses per
/// network interface").
pub(crate) const ADDRESSES_AT_ONCE: usize = 50;

/// Maximum number of instance types in one `DescribeInstanceTypes` (EC2 API reference).
pub const TYPES_AT_ONCE: usize = 100;

/// The tag that excludes an ENI from the VPC CNI (VPC CNI, "CNI Configuration Variables").
pub(crate) const NO_MANAGE: &str = "node.k8s.amazonaws.com/no_manage";

/// The tag of a subnet that says whether the VPC CNI uses it (amazon-vpc-cni-k8s 1.22, README: "subnet discovery").
pub const CNI_ROLE: &str = "kubernetes.io/role/cni";

/// A status check that fails for this long counts as failed permanently. EC2 checks every minute (EC2 User Guide,
/// "Status checks"), so these are five failures in a row while the kubelet does not report. A short failure ends by
/// itself or by the automatic recovery of the instance. The bound is our assumption (R3.41).
pub(crate) const IMPAIRED_FOR_GOOD: Duration = Duration::from_mins(5);

/// Time between the first questions about the state of an instance. EC2 shows a new state with a delay (EC2 API
/// reference, "Eventual consistency"); that it is some seconds is our assumption (R3.39).
pub(crate) const QUESTION_INTERVAL: Duration = Duration::from_secs(2);

/// Time limit of a call, including its retries: our own choice, since EC2 documents none. No mutating call is begun with
/// less time of the lease left (R5.1).
pub const CALL_LIMIT: Duration = Duration::from_secs(5);

/// A call can still take effect for this long after it was sent. EC2 documents no bound: this is our assumption
/// (R5.23).
pub(crate) const LATE_CALL: Duration = Duration::from_secs(10);

/// An inventory that contradicts an own write counts only if it began at least this long after the write was answered.
/// Describe can lag (EC2 API reference, "Eventual consistency"; EC2 documents no bound, this is our assumption), and an
/// unnecessary repair makes the holder not ready (R1.14, R5.23).
pub const DESCRIBE_LAG: Duration = Duration::from_secs(10);

/// The size of the token bucket of an action, and its tokens per second (EC2 API reference, "Request throttling").
pub(crate) const fn token_bucket(action: Action) -> (u64, u64) {
    match action {
        Action::Assign | Action::Unassign => (100, 5),
        // The rate for filtered or paged requests: all requests of Mooring are.
        Action::DescribeInterfaces
        | Action::DescribeInstances
        | Action::DescribeInstanceStatus
        | Action::DescribeInstanceTypes
        | Action::DescribeSubnets => (100, 20),
    }
}

/// True if AWS reserves this address of this subnet CIDR.
#[must_use]
pub fn reserved(address: Address, subnet: Cidr) -> bool {
    let (first, last) = span(subnet);
    let (_, at_start) = reserved_at_start(subnet);
    let address = address.number();
    (first..=at_start).contains(&address) || address == last
}

/// The router of a subnet: the first address after the network address (VPC User Guide, "Subnet CIDR blocks").
#[must_use]
pub fn router(subnet: Cidr) -> Address {
    let (network, _) = span(subnet);
    Address::v4(network.saturating_add(1))
}

/// The addresses at the start of a subnet CIDR that AWS reserves.
pub(crate) fn reserved_at_start(subnet: Cidr) -> Span {
    let (first, last) = span(subnet);
    (first, first.saturating_add(RESERVED_AT_START - 1).min(last))
}
