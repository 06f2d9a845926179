//! The API server of the simulation held against kube-apiserver: one conversation with both, and what
//! they say is the same but for UIDs, times and the size of versions.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod deletions;
mod lists;
mod objects;
mod patches;
mod pods;
mod servers;
mod statuses;
mod talk;
mod transcript;
mod updates;
mod watches;
