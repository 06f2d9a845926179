//! The guarantees of Mooring for an address, each tested in a small simulated world with an API server, EC2 and a
//! clock. The safety rules are asserted after every step of every test (`sim/rules.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::format_push_string,
    missing_docs
)]

mod affected;
mod affected_by_any;
mod affected_by_fact;
mod affected_by_inventory;
mod allocation;
mod annotation;
mod announced;
mod any_order;
mod attach;
mod back_in_service;
mod backoff;
mod before_inventory;
mod blocks;
mod bounds;
mod brake;
mod call_priority;
mod claim_ids;
mod closed_gates;
mod delete;
mod denied;
mod denied_competitors;
mod denied_moves;
mod detached;
mod drain;
mod drift;
mod due;
mod due_nodes;
mod edit;
mod edit_proofs;
mod edit_reports;
mod engine;
mod failed_alone;
mod failover;
mod failover_parts;
mod failures;
mod fast_failover;
mod fast_failover_refused;
mod forgetting;
mod gate_opening;
mod gone_ips;
mod gone_ips_engine;
mod gone_ips_failures;
mod impaired;
mod in_use;
mod in_use_unseen;
mod instance_reads;
mod inventories;
mod late;
mod lead_begins;
mod leaders;
mod leaks;
mod left;
mod listed;
mod losers;
mod lost_status;
mod many_ips;
mod measured;
mod memory;
mod moments;
mod moves;
mod node_paces;
mod node_parts;
mod node_parts_away;
mod node_questions;
mod node_reports;
mod once;
mod own_turn;
mod paced;
mod paced_calls;
mod paced_effects;
mod paced_world;
mod pending_pods;
mod places;
mod prefixes;
mod primary;
mod programmed;
mod random_events;
mod read_waits;
mod reason_writes;
mod rebooted;
mod recovery;
mod refused_calls;
mod refused_steps;
mod refused_writes;
mod releases;
mod repeated;
mod replicas;
mod requests;
mod reservation;
mod reservation_owner;
mod restart;
mod restored;
mod returned;
mod rollout;
mod room;
mod same_instance;
mod silence;
mod sim;
mod spec_changes;
mod stale;
mod standby;
mod surplus_reservations;
mod swap;
mod take_from;
mod together;
mod together_faults;
mod turns;
mod unanswered;
mod unpaced;
mod unreadable;
mod unseen_claims;
mod verified;
mod waiting;
mod waiting_reasons;
mod workload;
mod written;
