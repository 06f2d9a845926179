//! Desired state and difference as pure functions, with a kernel that is a value.

mod kernel;
mod properties;
mod scenes;
