//! The environment of `plan`: an API server, EC2, and processes that have facts.

pub mod clock;
pub mod controller;
pub mod controller_state;
pub mod events;
pub mod queue;
pub mod state_cache;
