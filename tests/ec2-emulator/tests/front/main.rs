//! The HTTP front of the emulator: one file for each property.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod call_log;
mod client;
mod describe_lag;
mod faults;
mod held_calls;
mod listen_address;
mod malformed_requests;
mod token_buckets;
