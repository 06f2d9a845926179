//! The HTTP front of the emulator: one file for each property.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod a_bad_form_is_refused_and_not_obeyed;
mod a_call_is_held_until_it_is_told;
mod a_describe_lags;
mod a_fault_strikes_the_calls_it_was_asked_for;
mod client;
mod each_action_has_its_token_bucket;
mod every_call_is_counted_and_every_mutation_written_down;
mod the_binary_says_where_it_listens;
