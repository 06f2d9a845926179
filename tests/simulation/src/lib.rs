//! The real controller in a simulated world: a seed determines everything that happens.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::match_same_arms,
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    clippy::struct_excessive_bools,
    reason = "this is a test: an unexpected condition ends it, a JSON value without a field is null, and a pod has many flags"
)]

pub mod api_server;
pub mod chance;
pub mod cloud;
pub mod decisions;
pub mod judge;
pub mod log;
pub mod replicas;
pub mod scenarios;
pub mod world;
