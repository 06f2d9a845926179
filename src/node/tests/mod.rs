//! Desired state and difference as pure functions, with a kernel that is a value.

mod cilium;
mod kernel;
mod probe;
mod properties;
mod scenes;
