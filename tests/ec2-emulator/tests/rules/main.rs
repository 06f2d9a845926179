//! The rules of EC2 on the pure state machine: one file for each rule.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod a_batch_is_all_or_nothing;
mod a_describe_shows_what_its_filters_say;
mod a_prefix_is_delegated_as_a_whole;
mod a_refused_call_says_why;
mod a_terminated_instance_lets_its_interfaces_go;
mod an_address_is_on_one_interface;
mod an_interface_has_room_by_instance_type;
mod equal_requests_give_equal_states;
mod interfaces_are_attached_one_at_a_time;
mod reassignment_moves;
mod repeating_an_assign_changes_nothing;
mod world;
