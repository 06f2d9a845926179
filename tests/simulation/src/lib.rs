//! The real controller in a world that one number decides.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "this is a test: what cannot go on ends, and a JSON value without a field is null"
)]

pub mod api_server;
pub mod chance;
pub mod cloud;
pub mod judge;
pub mod log;
pub mod play;
pub mod replicas;
pub mod world;
