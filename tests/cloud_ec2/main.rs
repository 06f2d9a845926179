//! Tests the real AWS SDK against the emulator: the effect of each call, and the outcome of each failure.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod failures;
mod life;
mod world;
