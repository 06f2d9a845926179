//! More ENIs carry addresses than there are slots.

use std::net::Ipv4Addr;

use super::scenes::{kernel, mac, objects, with};
use crate::node::desired::{State, desired};
use crate::node::difference::{Change, difference};
use crate::node::settings::NodeSettings;

/// Two slots.
fn settings() -> NodeSettings {
    NodeSettings::new(0x0000_3000, 600, 10_600).unwrap()
}

#[test]
fn a_pod_for_which_no_slot_is_free_is_closed_and_reported() {
    let three = with(with(with(objects(), 1, 0, false), 2, 1, false), 3, 2, false);
    let desired = desired(&three, &kernel(), &settings());
    let states = desired.reports.values().map(|report| report.state);
    let states: Vec<_> = states.collect();
    assert_eq!(
        states,
        [State::Programmed, State::Programmed, State::Failed]
    );
    let message = &desired.reports["ip-3"].message;
    assert!(
        message.contains("more than 2 network interfaces"),
        "{message}"
    );
    assert!(message.contains("--mark-mask"), "{message}");
    let closed: Vec<_> = desired.closed.keys().copied().collect();
    assert_eq!(closed, [Ipv4Addr::new(10, 77, 9, 3)]);
}

#[test]
fn the_address_of_a_program_of_the_node_is_not_added_where_no_slot_is_free() {
    let three = with(with(with(objects(), 1, 0, false), 2, 1, false), 3, 2, true);
    let desired = desired(&three, &kernel(), &settings());
    assert_eq!(desired.reports["ip-3"].state, State::Failed);
    let changes = difference(&desired, &kernel(), &settings());
    let adds = |change: &Change| matches!(change, Change::AddAddress(_));
    assert!(!changes.iter().any(adds), "{changes:#?}");
}

#[test]
fn an_eni_that_carries_an_address_can_carry_another_one() {
    let three = with(with(with(objects(), 1, 0, false), 2, 1, false), 3, 1, false);
    let desired = desired(&three, &kernel(), &settings());
    let programmed = |report: &crate::node::desired::Report| report.state == State::Programmed;
    assert!(
        desired.reports.values().all(programmed),
        "{:#?}",
        desired.reports
    );
}

/// The ENI whose address works keeps its slot, whatever the names of the IPs are.
#[test]
fn an_address_that_works_keeps_its_slot() {
    let mut kernel = kernel();
    let last = (
        kernel.links[&3].name.clone(),
        Ipv4Addr::new(203, 0, 113, 13),
    );
    kernel.programmed.insert(last);
    assert!(kernel.is_programmed(Ipv4Addr::new(203, 0, 113, 13), mac(2)));
    let three = with(with(with(objects(), 1, 0, false), 2, 1, false), 3, 2, false);
    let desired = desired(&three, &kernel, &settings());
    assert_eq!(desired.reports["ip-3"].state, State::Programmed);
    assert_eq!(desired.reports["ip-2"].state, State::Failed);
}
