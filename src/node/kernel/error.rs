//! Errors of requests to the kernel.

use std::time::Duration;

use crate::node::listing::ListingError;

/// The kernel could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A netlink socket cannot be opened.
    #[error("opening a netlink socket for {what}")]
    Socket {
        /// What the socket is for.
        what: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A file of the kernel cannot be read.
    #[error("reading {path}")]
    File {
        /// The path of the file.
        path: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A request to rtnetlink failed.
    #[error("{what}")]
    Route {
        /// What the request was made for.
        what: String,
        /// The answer of the kernel.
        source: rtnetlink::Error,
    },
    /// A request to conntrack failed.
    #[error("{what}: {reason}")]
    Conntrack {
        /// What the request was made for.
        what: &'static str,
        /// The answer of the kernel.
        reason: String,
    },
    /// `nft` failed.
    #[error("{what}: {reason}")]
    Nft {
        /// What `nft` was run for.
        what: &'static str,
        /// The error message of `nft`, or why it could not be run.
        reason: String,
    },
    /// The kernel did not answer in time.
    #[error("{what}: no answer of the kernel within {} s", limit.as_secs())]
    Late {
        /// What the request was made for.
        what: String,
        /// The time limit.
        limit: Duration,
    },
    /// `nft` took too long, and was killed.
    #[error("{what}: nft was killed, because it did not end within {} s", limit.as_secs())]
    NftTooSlow {
        /// What `nft` was run for.
        what: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// The output of `nft` cannot be parsed.
    #[error(transparent)]
    Table(#[from] ListingError),
    /// Another program on the node undid a change.
    #[error("{0}: done, and not there a moment later: another program on the node undoes it")]
    Undone(String),
    /// The kernel does not support what Mooring needs.
    #[error(
        "the kernel {release} is too old: {needed} or newer is needed, for the protocol of addresses (IFA_PROTO)"
    )]
    TooOld {
        /// The release of the running kernel.
        release: String,
        /// The oldest release that is supported.
        needed: &'static str,
    },
}
