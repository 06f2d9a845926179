//! Every state that a few pods, nodes and faults can bring `plan` into, explored to the end.
//!
//! The decisions are those of the shipped `mooring-plan`, EC2 is the emulator's state machine, and
//! stateright explores what they do together: [`configurations`] says in which small worlds, [`model`]
//! with which transitions, [`rules`] what must be so in every state, and [`calm`] that from every state
//! it comes to rest where it should.
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
    reason = "a checker for tests: what it did not foresee ends it"
)]

pub mod action;
pub mod calm;
pub mod cast;
pub mod configurations;
pub mod mark;
pub mod model;
pub mod report;
pub mod rules;
pub mod shared;
pub mod state;
pub mod wish;
pub mod world;
