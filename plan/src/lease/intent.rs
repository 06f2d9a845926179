//! Whether a process tries to hold the lease, or leaves it to another one.

use crate::time::Instant;

/// Whether this process tries to hold the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Intent {
    /// Nothing yet: it could not lead, because its lists are not complete.
    Observe,
    /// To lead.
    Lead,
    /// To release it at this time, when its calls to EC2 have ended.
    Release(Instant),
    /// To leave it to others until this time. The number of changes of the holder when it was released.
    Abstain(Instant, u64),
    /// To release it for good, with this number of tries.
    Leave(u8),
}
