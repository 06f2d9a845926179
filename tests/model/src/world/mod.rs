//! What lies outside `plan`: an API server, EC2, and processes that hold facts.

pub mod clock;
pub mod cloud;
pub mod controller;
pub mod events;
pub mod kube;
pub mod mind;
