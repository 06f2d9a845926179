//! All decisions of Mooring, as pure functions.
//! Rule: R1.5.
#![no_std]
// Decisions are values that are created a few times a second and matched at once: a box would not help.
#![allow(clippy::result_large_err, clippy::large_enum_variant)]
extern crate alloc;

pub mod address;
pub mod admission;
mod backoff;
pub mod block;
mod blocks;
mod brake;
pub mod buckets;
pub mod cloud;
pub mod decide;
pub mod ec2;
pub mod engine;
pub mod events;
pub mod facts;
pub mod lease;
pub mod names;
mod node_parts_away;
mod nodes;
pub mod objects;
pub mod outcome;
pub mod reason;
pub mod step;
pub mod store_revision;
pub mod time;
mod words;
