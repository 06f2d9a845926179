//! The data path of a node, with real packets in network namespaces that the test makes: one file a promise.
//!
//! Everything happens in a network and mount namespace of this process (a user namespace as well where it is
//! not root's), which end with it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod both_directions;
mod cleanup;
mod closed;
mod costs;
mod damages;
mod host_network;
mod interrupted;
mod moves;
mod refused;
mod reports;
mod restart;
mod two_addresses;
mod two_gateways;
mod two_node_parts;
mod world;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use world::{Backend, inside};

type Promise = fn(Backend);

/// Each with the rules of the AWS VPC CNI in both kinds of iptables.
const PROMISES: &[(&str, Promise)] = &[
    (
        "both_directions",
        both_directions::a_pod_answers_on_its_address_and_leaves_from_it,
    ),
    (
        "host_network",
        host_network::a_program_in_the_network_of_the_node_uses_its_address,
    ),
    (
        "two_gateways",
        two_gateways::a_partner_is_reached_by_the_gateway_that_its_route_names,
    ),
    (
        "two_addresses",
        two_addresses::two_pods_of_one_node_have_two_addresses,
    ),
    (
        "closed",
        closed::nothing_reaches_a_partner_before_the_address_is_programmed,
    ),
    ("moves", moves::an_address_moves_between_nodes_and_back),
    (
        "interrupted",
        interrupted::programming_can_end_after_every_step,
    ),
    (
        "restart",
        restart::connections_survive_the_end_of_the_node_part,
    ),
    ("cleanup", cleanup::nothing_of_other_programs_is_changed),
    ("damages", damages::every_damage_is_healed),
    (
        "two_node_parts",
        two_node_parts::two_node_parts_do_not_disturb_each_other,
    ),
    (
        "reports",
        reports::the_node_part_reports_what_it_has_programmed,
    ),
    ("costs", costs::the_path_costs_next_to_nothing),
    ("refused", refused::what_is_missing_is_said),
];

fn main() -> ExitCode {
    if let Some(code) = restart::child() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    if !arguments.list {
        match inside::enter() {
            inside::Entered::Here => {}
            inside::Entered::Ended(code) => return code,
        }
    }
    // What the node parts say of refused changes is evidence.
    let warnings = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN);
    warnings.with_writer(std::io::stderr).init();
    // Time matters to what is measured, and there are two cores.
    arguments.test_threads.get_or_insert(2);
    let measured = std::env::var_os("MOORING_NODE_COSTS").is_some();
    let listed = PROMISES
        .iter()
        .filter(|(name, _)| measured || *name != "costs");
    let trials = listed.flat_map(|(name, promise)| {
        // What is reported does not depend on the rules of the CNI.
        let backends: &[Backend] = match *name {
            "reports" => &[Backend::Legacy],
            _ => &[Backend::Legacy, Backend::Nft],
        };
        backends.iter().map(move |backend| {
            let backend = *backend;
            let promise = *promise;
            Trial::test(format!("{name}::{backend}"), move || {
                std::panic::catch_unwind(|| promise(backend)).map_err(|panic| {
                    let text = panic
                        .downcast_ref::<String>()
                        .cloned()
                        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                    Failed::from(text.unwrap_or_default())
                })
            })
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
