//! Compares the API server of the simulation with kube-apiserver: both get the same requests, and their answers must be
//! equal except for UIDs, times and the size of versions.
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
