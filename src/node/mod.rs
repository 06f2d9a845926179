//! The node part: it makes the kernel of one node carry the addresses of the pods that run there.
//!
//! Watch -> [`objects::Objects`] -> [`desired::desired`] -> [`difference::difference`] -> [`kernel`].
//! `desired` and `difference` are pure functions. `docs/design/node.md` explains the data path.

mod address;
mod complete_table;
mod conflict;
pub mod connections;
pub mod desired;
pub mod destinations;
pub mod difference;
mod expressions;
mod icmp_rules;
pub mod kernel;
mod link_checks;
pub mod listing;
pub mod objects;
mod obstacle;
pub mod probe;
mod probe_rules;
pub mod read;
pub mod reconcile;
pub mod reconcile_loop;
pub mod report;
mod routing;
pub mod ruleset;
pub mod settings;
pub mod slots;
pub mod state;
pub mod table;
pub mod table_update;
mod undone;
pub mod watch;

#[cfg(test)]
mod tests;
