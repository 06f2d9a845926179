//! A model checker for `plan`: it explores every state that a few pods, nodes and faults can lead to.
//!
//! The decisions are those of the shipped `mooring-plan`, EC2 is the state machine of the emulator, and
//! stateright explores all orders of their steps. [`configurations`] contains the small worlds, [`model`]
//! the transitions, [`rules`] what must be true in every state, and [`liveness`] checks that from every state
//! the controllers reach the goal ([`goal`]).
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::large_enum_variant,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    clippy::new_without_default,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a checker for tests: an unexpected condition ends it"
)]

pub mod action;
pub mod configurations;
pub mod fixtures;
pub mod liveness;
pub mod milestone;
pub mod model;
pub mod report;
pub mod rules;
pub mod shared;
pub mod state;
pub mod world;
