//! Calls of EC2 with the SDK. Each call is one request, or one for each page of a list. No call waits for a token of a
//! bucket: the engine does that.

mod answer;
pub mod classify;
mod client;
mod credentials;
mod failure;
mod instances;
mod interfaces;
mod sentence;
mod subnets;

pub use client::{ATTEMPT_TIMEOUT, Ec2, PAGE_TIMEOUT};
