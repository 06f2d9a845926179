//! The real controller in a world that one number decides.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::match_same_arms,
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    clippy::struct_excessive_bools,
    reason = "this is a test: what cannot go on ends, a JSON value without a field is null, and a pod is what it shows"
)]

pub mod api_server;
pub mod chance;
pub mod cloud;
pub mod decisions;
pub mod judge;
pub mod log;
pub mod play;
pub mod replicas;
pub mod world;
