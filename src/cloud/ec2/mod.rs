//! EC2, by its SDK. Each call is one request, or for a list as many as there are pages; none waits for a token: that
//! is the engine's decision.

mod answer;
pub mod classify;
mod client;
mod failure;
mod instances;
mod interfaces;
mod subnets;

pub use client::{ATTEMPT_TIMEOUT, Ec2, OPERATION_TIMEOUT};
