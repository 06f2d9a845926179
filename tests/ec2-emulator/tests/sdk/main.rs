//! The real SDK as the client: an independent check of the wire format.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod a_dry_run_does_nothing;
mod a_long_answer_comes_in_pages;
mod client;
mod conversation;
mod errors_reach_the_sdk;
mod moto;
mod the_emulator_and_moto_say_the_same;
