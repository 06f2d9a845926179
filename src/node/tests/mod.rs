//! Tests of the desired state and the difference, with a simulated kernel.

mod cilium;
mod connections;
mod dual_stack;
mod gateways;
mod kernel;
mod probe;
mod properties;
mod protocols;
mod reverse_path;
mod scenes;
mod slots;
mod unknown_ip;
