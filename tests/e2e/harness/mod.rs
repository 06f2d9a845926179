//! What the scenes run on: clusters, the objects of a scene, expectations, and the judge.

#[macro_use]
pub mod runner;
pub mod certificates;
pub mod clusters;
pub mod diagnostics;
pub mod expectations;
pub mod judge;
pub mod objects;
pub mod request_counts;
pub mod requests;
pub mod scene;
pub mod turns;
pub mod webhook_client;
