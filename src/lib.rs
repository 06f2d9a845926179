//! Mooring.

pub mod admission;
pub mod api;
pub mod cli;
pub mod cloud;
pub mod controller;
pub mod events;
#[cfg(test)]
mod fake_api;
pub mod metrics;
pub mod node;
pub mod supervise;
pub mod telemetry;
pub mod tls;
