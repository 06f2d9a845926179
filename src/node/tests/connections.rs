//! Connections with a wrong source are forgotten, and those with the mark of an earlier slot get the present mark.

use std::net::Ipv4Addr;

use super::kernel::{changes, settle};
use super::scenes::{kernel, mac, objects, with};
use crate::node::connections::{Connection, Correction, Expected};
use crate::node::desired::desired;
use crate::node::difference::Change;
use crate::node::objects::Objects;
use crate::node::settings::NodeSettings;
use crate::node::slots::slots;
use crate::node::state::KernelState;

const PARTNER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
/// The static address and the own address of pod 1.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 11);
const POD: Ipv4Addr = Ipv4Addr::new(10, 77, 9, 1);
/// A bit of another program: the AWS VPC CNI.
const FOREIGN: u32 = 0x80;

/// A connection of the partner to the pod.
const INBOUND: Connection = Connection {
    source: PARTNER,
    destination: ADDRESS,
    reply_source: POD,
    reply_destination: PARTNER,
    mark: 0,
};
/// A connection of the pod to the partner.
const OUTBOUND: Connection = Connection {
    source: POD,
    destination: PARTNER,
    reply_source: PARTNER,
    reply_destination: ADDRESS,
    mark: 0,
};

/// What is done with a connection whose mark is that of this slot.
fn correction(
    objects: &Objects,
    kernel: &KernelState,
    of: Connection,
    slot: u32,
) -> Option<Correction> {
    let settings = NodeSettings::default();
    let desired = desired(objects, kernel, &settings);
    let slots = slots(&desired, kernel, &settings);
    let mark = settings.mark(slot) | FOREIGN;
    let connection = Connection { mark, ..of };
    Expected::new(&desired, &slots, kernel, &settings).correction(&connection)
}

fn present(slot: u32) -> Correction {
    let settings = NodeSettings::default();
    Correction::Mark {
        mark: settings.mark(slot),
        mask: settings.mark_mask(),
    }
}

#[test]
fn connections_get_the_mark_of_the_interface_that_the_address_moved_to() {
    let mut kernel = kernel();
    settle(&with(objects(), 1, 1, false), &mut kernel);
    let moved = with(objects(), 1, 2, false);
    for connection in [INBOUND, OUTBOUND] {
        assert_eq!(correction(&moved, &kernel, connection, 1), Some(present(2)));
        assert_eq!(correction(&moved, &kernel, connection, 2), None);
    }
    // A pod of the same node reaches the address without the ENI, and without a mark.
    let local = Connection {
        source: Ipv4Addr::new(10, 77, 9, 2),
        reply_destination: Ipv4Addr::new(10, 77, 9, 2),
        ..INBOUND
    };
    assert_eq!(correction(&moved, &kernel, local, 0), None);
    // Without a mark the packets of the pod left with another source.
    let forgotten = Some(Correction::Forget);
    assert_eq!(correction(&moved, &kernel, OUTBOUND, 0), forgotten);
}

#[test]
fn interfaces_keep_their_slots_when_another_program_deletes_the_table() {
    let settings = NodeSettings::default();
    let mut before = kernel();
    // The interface that was used first has the address that is later in the order.
    settle(&with(objects(), 2, 2, false), &mut before);
    let both = with(with(objects(), 2, 2, false), 1, 1, false);
    settle(&both, &mut before);
    let slots = |kernel: &KernelState| {
        let slots = slots(&desired(&both, kernel, &settings), kernel, &settings);
        [slots[&mac(1)], slots[&mac(2)]]
    };
    assert_eq!(slots(&before), [2, 1]);
    let mut flushed = KernelState {
        table: None,
        ..before.clone()
    };
    flushed.read_stored();
    assert_eq!(slots(&flushed), [1, 2]);
    // A node part that did not run meanwhile corrects the marks.
    assert_eq!(correction(&both, &flushed, INBOUND, 2), Some(present(1)));
    flushed.keep_stored(&before);
    assert_eq!(slots(&flushed), [2, 1]);
}

#[test]
fn a_connection_of_the_node_with_another_source_is_forgotten() {
    let primary = Ipv4Addr::new(10, 77, 0, 10);
    let mut kernel = kernel();
    let host = with(objects(), 1, 1, true);
    settle(&host, &mut kernel);
    let right = Connection {
        source: ADDRESS,
        ..OUTBOUND
    };
    assert_eq!(correction(&host, &kernel, right, 0), None);
    let translated = Connection {
        reply_destination: primary,
        ..right
    };
    let forgotten = Some(Correction::Forget);
    assert_eq!(correction(&host, &kernel, translated, 0), forgotten);
    // A Service with a pod of the node: kube-proxy translates the source too.
    let local = Connection {
        destination: Ipv4Addr::new(10, 96, 0, 1),
        reply_source: Ipv4Addr::new(10, 77, 9, 2),
        ..translated
    };
    assert_eq!(correction(&host, &kernel, local, 0), None);
}

#[test]
fn connections_are_corrected_when_a_rule_a_route_or_an_address_was_away() {
    let mut whole = kernel();
    let host = with(objects(), 1, 1, true);
    settle(&host, &mut whole);
    let forgets = |kernel: &KernelState| {
        let changes = changes(&host, kernel);
        let forgets = |change: &Change| matches!(change, Change::ForgetConnections(_));
        changes.last().is_some_and(forgets)
    };
    assert!(!forgets(&whole));
    for rule in &whole.rules {
        let mut kernel = whole.clone();
        kernel.rules.remove(rule);
        assert!(forgets(&kernel), "{rule}");
    }
    for route in &whole.routes {
        let mut kernel = whole.clone();
        kernel.routes.remove(route);
        assert!(forgets(&kernel), "{route:?}");
    }
    let mut kernel = whole.clone();
    kernel.addresses.retain(|local| !local.ours);
    assert!(forgets(&kernel));
}

#[test]
fn a_refused_correction_of_connections_is_made_again() {
    let mut kernel = kernel();
    let host = with(objects(), 1, 1, true);
    settle(&host, &mut kernel);
    assert_eq!(changes(&host, &kernel), []);
    // An address that had left is not in the table any more.
    let left = Ipv4Addr::new(203, 0, 113, 12);
    kernel.uncorrected = Some([left].into());
    let needed = changes(&host, &kernel);
    let [Change::ForgetConnections(expected)] = needed.as_slice() else {
        panic!("{needed:?}")
    };
    let inbound = Connection {
        destination: left,
        ..INBOUND
    };
    assert_eq!(expected.correction(&inbound), Some(Correction::Forget));
}
