//! The real SDK against the emulator: what each call does, and what becomes of a call that fails.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod failures;
mod life;
mod world;
