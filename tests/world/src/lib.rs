//! The environment of the engine of `plan` in tests: an API server and EC2 in memory, without I/O.
//!
//! The model (`tests/model`) explores every order of its steps, and the promises of `plan`
//! (`plan/tests/promises`) are examples on it. Both therefore check against the same rules of the API server
//! ([`kube`]) and of EC2 ([`cloud`], which is the emulator), with the same objects ([`objects`]), and the same
//! goal when nothing more happens ([`goal`]).
#![allow(
    missing_docs,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::panic,
    clippy::unwrap_used,
    reason = "for tests only: an unexpected condition ends them"
)]

pub mod affected;
pub mod attached;
pub mod blocks;
pub mod cloud;
pub mod engine;
pub mod goal;
pub mod kube;
pub mod node_parts;
pub mod objects;
pub mod queries;
pub mod text;
pub mod watch;
