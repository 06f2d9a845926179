//! Tests of the data path of a node, with real packets in network namespaces that the test creates. Each property
//! ("promise") has its own file.
//!
//! Everything runs in a network and mount namespace of this process (and a user namespace if it is not root). The
//! namespaces end with the process.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod both_directions;
mod branch;
mod calico_bpf;
mod cilium;
mod cleanup;
mod closed;
mod costs;
mod damages;
mod driven;
mod host_network;
mod interfaces;
mod interrupted;
mod local_pods;
mod moves;
mod node_part;
mod objects;
mod refused;
mod reports;
mod restart;
mod starts;
mod too_large;
mod two_addresses;
mod two_gateways;
mod two_node_parts;
mod unreadable;
mod upgrade;
mod verified;

use std::process::ExitCode;
use std::time::Instant;

use libtest_mimic::{Arguments, Failed, Trial};
use mooring_cluster::network::{Backend, Entered, enter};

type Promise = fn(Backend);

/// The tests. Each runs with the rules of the AWS VPC CNI in both kinds of iptables.
const PROMISES: &[(&str, Promise)] = &[
    (
        "both_directions",
        both_directions::a_pod_accepts_and_opens_connections_with_its_address,
    ),
    (
        "source_marks",
        both_directions::the_source_of_a_pod_is_valid_with_its_mark,
    ),
    (
        "host_network",
        host_network::a_program_in_the_network_of_the_node_uses_its_address,
    ),
    (
        "two_gateways",
        two_gateways::a_partner_is_reached_through_the_gateway_of_its_route,
    ),
    (
        "two_addresses",
        two_addresses::two_pods_of_one_node_have_two_addresses,
    ),
    (
        "closed",
        closed::nothing_reaches_a_partner_before_the_address_is_programmed,
    ),
    (
        "closed_host",
        closed::a_program_of_the_node_goes_on_with_its_address,
    ),
    (
        "starts",
        starts::starting_pods_never_send_from_another_address,
    ),
    ("moves", moves::an_address_moves_between_nodes_and_back),
    (
        "interrupted",
        interrupted::programming_can_end_after_every_step,
    ),
    (
        "interfaces",
        interfaces::connections_continue_with_another_mark,
    ),
    (
        "bare_interface",
        interfaces::an_interface_needs_no_address_of_its_own,
    ),
    (
        "local_pods",
        local_pods::pods_of_the_node_reach_a_program_of_the_node,
    ),
    (
        "too_large",
        too_large::the_sender_of_a_packet_that_is_too_large_gets_the_size_that_fits,
    ),
    (
        "cilium_eni",
        cilium::rules_of_cilium_in_eni_mode_are_reported_or_come_later,
    ),
    (
        "calico_bpf",
        calico_bpf::the_bpf_data_plane_of_calico_is_reported,
    ),
    (
        "branch",
        branch::pods_with_a_security_group_work_in_the_mode_standard,
    ),
    (
        "restart",
        restart::connections_survive_the_end_of_the_node_part,
    ),
    (
        "upgrade",
        upgrade::connections_survive_an_upgrade_that_changes_the_chains,
    ),
    ("cleanup", cleanup::state_of_other_programs_is_not_changed),
    ("after_cleanup", cleanup::a_clean_node_belongs_to_its_users),
    ("damages", damages::every_damage_is_repaired),
    (
        "foreign_addresses",
        damages::addresses_of_other_programs_stay,
    ),
    (
        "two_node_parts",
        two_node_parts::two_node_parts_do_not_disturb_each_other,
    ),
    ("unreadable", unreadable::an_unreadable_kernel_is_reported),
    (
        "no_table",
        unreadable::without_its_table_an_address_is_not_added,
    ),
    ("reports", reports::the_node_part_reports_what_it_programmed),
    (
        "driven",
        driven::a_ready_pod_is_reached_and_seen_under_its_address,
    ),
    ("verified", verified::the_partner_sees_the_address_of_a_pod),
    (
        "verified_host",
        verified::the_partner_sees_the_address_of_a_program_of_the_node,
    ),
    (
        "cilium",
        cilium::only_host_network_works_where_cilium_bypasses_netfilter,
    ),
    ("costs", costs::the_overhead_of_the_path_is_small),
    ("refused", refused::missing_requirements_are_reported),
    (
        "refused_route",
        refused::a_refused_route_takes_down_no_other_address,
    ),
];

fn main() -> ExitCode {
    if let Some(code) = restart::child() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    if !arguments.list {
        match enter() {
            Ok(Entered::Here) => {}
            Ok(Entered::Ended(code)) => return code,
            Err(missing) => {
                eprintln!("{missing}");
                return ExitCode::FAILURE;
            }
        }
    }
    // The warnings of the node parts about refused changes are shown in the output.
    let warnings = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN);
    warnings.with_writer(std::io::stderr).init();
    let measured = std::env::var_os("MOORING_NODE_COSTS").is_some();
    // Tests run in parallel, because they mostly wait for dropped packets. Measurements run alone.
    arguments
        .test_threads
        .get_or_insert(if measured { 1 } else { 4 });
    let listed = PROMISES
        .iter()
        .filter(|(name, _)| measured || *name != "costs");
    let trials = listed.flat_map(|(name, promise)| {
        // The reports do not depend on the rules of the CNI.
        let backends: &[Backend] = match *name {
            "reports" => &[Backend::Legacy],
            "driven" => &[Backend::Nft],
            _ => &[Backend::Legacy, Backend::Nft],
        };
        backends.iter().map(move |backend| {
            let backend = *backend;
            let promise = *promise;
            Trial::test(format!("{name}::{backend}"), move || {
                let begin = Instant::now();
                let ended = std::panic::catch_unwind(|| promise(backend));
                println!("{name}::{backend}: {:.1?}", begin.elapsed());
                ended.map_err(|panic| {
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
