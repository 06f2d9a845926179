//! `rp_filter` of the ENIs, with and without an address on the interface.

use super::kernel::settle;
use super::scenes::{kernel, objects, with};
use crate::node::desired::{Desired, State, desired};
use crate::node::objects::Objects;
use crate::node::settings::NodeSettings;
use crate::node::state::{KernelState, LocalAddress};

/// The index of eth1, which has `rp_filter` 1.
const ETH1: u32 = 2;

/// A kernel in which eth1 has no address.
fn bare() -> KernelState {
    let mut kernel = kernel();
    kernel.addresses.retain(|local| local.link != ETH1);
    kernel
}

fn desire(objects: &Objects, kernel: &KernelState) -> Desired {
    desired(objects, kernel, &NodeSettings::default())
}

fn pod(host_network: bool) -> Objects {
    with(objects(), 1, 1, host_network)
}

#[test]
fn it_is_off_without_an_address_and_loose_with_one() {
    let mut kernel = bare();
    let address = LocalAddress {
        link: ETH1,
        address: "10.77.1.10".parse().unwrap(),
        prefix: 24,
        ours: false,
    };
    settle(&pod(false), &mut kernel);
    assert_eq!(kernel.links[&ETH1].rp_filter, 0);
    kernel.addresses.insert(address);
    settle(&pod(false), &mut kernel);
    assert_eq!(kernel.links[&ETH1].rp_filter, 2);
    kernel.addresses.remove(&address);
    settle(&pod(false), &mut kernel);
    assert_eq!(kernel.links[&ETH1].rp_filter, 0);
    settle(&Objects::default(), &mut kernel);
    assert_eq!(kernel.links[&ETH1].rp_filter, 1, "the value from before");
}

#[test]
fn the_value_for_all_interfaces_is_an_obstacle_only_without_an_address() {
    for all in [1, 2] {
        let mut bare = bare();
        bare.all_reverse_path = all;
        let desired = desire(&pod(false), &bare);
        let report = &desired.reports["ip-1"];
        assert_eq!(report.state, State::Failed, "{all}");
        assert!(
            report.message.contains("eth1 has no IPv4 address"),
            "{}",
            report.message
        );
        assert_eq!(desired.closed.len(), 1, "the pod stays closed");

        let mut usual = kernel();
        usual.all_reverse_path = all;
        let desired = desire(&pod(false), &usual);
        assert_eq!(desired.reports["ip-1"].state, State::Programmed, "{all}");
    }
}

#[test]
fn the_address_of_a_program_of_the_node_is_enough() {
    let mut kernel = bare();
    kernel.all_reverse_path = 1;
    settle(&pod(true), &mut kernel);
    let desired = desire(&pod(true), &kernel);
    assert_eq!(desired.reports["ip-1"].state, State::Programmed);
    assert_eq!(kernel.links[&ETH1].rp_filter, 2);
}
