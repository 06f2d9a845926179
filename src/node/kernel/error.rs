//! What can go wrong with the kernel.

use crate::node::table::TableError;

/// The kernel could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A netlink socket.
    #[error("opening a netlink socket for {what}")]
    Socket {
        /// What it is for.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// A request to rtnetlink.
    #[error("{what}")]
    Route {
        /// What was being done.
        what: String,
        /// The answer of the kernel.
        source: rtnetlink::Error,
    },
    /// A request about conntrack.
    #[error("{what}: {reason}")]
    Conntrack {
        /// What was being done.
        what: &'static str,
        /// The answer of the kernel.
        reason: String,
    },
    /// `nft` could not do what it was asked.
    #[error("{what}: {reason}")]
    Nft {
        /// What was being done.
        what: &'static str,
        /// What it said.
        reason: String,
    },
    /// What `nft` printed cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A change did not last.
    #[error("{0}: done, and not there a moment later: another program on the node undoes it")]
    Undone(String),
    /// The kernel has not what Mooring needs.
    #[error(
        "the kernel {release} is too old: {needed} or newer is needed, for the protocol of addresses (IFA_PROTO)"
    )]
    TooOld {
        /// The release of the kernel.
        release: String,
        /// The oldest that has it.
        needed: &'static str,
    },
}
