//! What changes a block, a subnet or a slot, and the answer to a read, affect the IPs that wait for it; of thousands at
//! rest none.
//! Rule: R1.4.

use mooring_plan::facts::{Affected, Fact};
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::{Block, Ip, Pod, Reservation};
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{Call, Read};
use mooring_world::attached::{address, ip_name, node_name, pod_key};
use mooring_world::objects::{self, interface_of};

use crate::many_ips::{ManyIps, POD, block, subnet};

pub const CHANGED: u32 = 5;
const NODES: u32 = 4;

pub fn many_ips() -> ManyIps {
    ManyIps::at_rest(12, NODES)
}

pub fn several(ips: impl IntoIterator<Item = u32>) -> Affected {
    Affected::Several(ips.into_iter().map(ip_name).collect())
}

pub fn name() -> IpName {
    ip_name(CHANGED)
}

pub fn known(many_ips: &ManyIps) -> Ip {
    many_ips.facts.ip(&name()).unwrap().clone()
}

/// Another client changes the IP.
pub fn changes(many_ips: &mut ManyIps, change: impl FnOnce(&mut Ip)) {
    let mut ip = known(many_ips);
    ip.version = ResourceVersion(ip.version.0 + 1);
    change(&mut ip);
    many_ips.deliver(Fact::Ip(ip));
}

/// A block in another subnet.
pub fn elsewhere() -> Block {
    let mut block = objects::block("elsewhere", "198.51.100.0/24");
    block.spec.as_mut().unwrap().subnet = "subnet-2".into();
    block
}

type SpecChange = fn(&mut Ip);

/// Changes of the spec, and whether the IP does not have what it asks for afterwards.
const SPEC_CHANGES: &[(&str, SpecChange, bool)] = &[
    (
        "the address that it has",
        |ip| ip.desired.as_mut().unwrap().address = ip.status.address,
        false,
    ),
    (
        "the block that it has",
        |ip| ip.desired.as_mut().unwrap().block = ip.status.block.clone(),
        false,
    ),
    (
        "any address",
        |ip| ip.desired.as_mut().unwrap().address = None,
        false,
    ),
    (
        "another address",
        |ip| ip.desired.as_mut().unwrap().address = Some(address(100)),
        true,
    ),
    (
        "another block",
        |ip| ip.desired.as_mut().unwrap().block = Some("other".into()),
        true,
    ),
    ("the first address", |ip| ip.status.address = None, true),
    (
        "what cannot be read",
        |ip| ip.desired = Err("it cannot be read".to_owned()),
        true,
    ),
];

#[test]
fn another_block_affects_the_ips_that_ask_for_something_else_than_they_have() {
    for (what, change, affected) in SPEC_CHANGES {
        let mut many_ips = many_ips();
        changes(&mut many_ips, change);
        let mut other = block();
        other.name = "other".into();
        let expected = several(affected.then_some(CHANGED));
        assert_eq!(many_ips.deliver(Fact::Block(other)), expected, "{what}");
        let gone = many_ips.deliver(Fact::BlockGone("other".into()));
        assert_eq!(gone, expected, "{what}");
    }
}

#[test]
fn a_subnet_without_inventories_affects_its_ips_and_those_that_may_come_to_lie_there() {
    let mut many_ips = many_ips();
    many_ips.deliver(Fact::Block(elsewhere()));
    let fails = |many_ips: &mut ManyIps, subnet: &str| {
        let failed = Fact::InventoryFailed(subnet.into(), Outcome::Denied);
        many_ips.deliver(failed)
    };
    assert_eq!(fails(&mut many_ips, "subnet-2"), several([]));
    many_ips.subnet_exists("subnet-2");
    many_ips.deliver(Fact::InventoryDone("subnet-2".into(), Vec::new()));
    changes(&mut many_ips, |ip| {
        ip.desired.as_mut().unwrap().address = Some(address(100));
    });
    assert_eq!(fails(&mut many_ips, "subnet-2"), several([CHANGED]));
    assert_eq!(fails(&mut many_ips, "subnet-2"), Affected::Nothing, "again");
    let first = many_ips.deliver(Fact::InventoryFailed(subnet(), Outcome::Unknown));
    assert_eq!(first, Affected::Nothing, "once");
    let second = many_ips.deliver(Fact::InventoryFailed(subnet(), Outcome::Unknown));
    assert_eq!(second, several(0..12), "twice in a row");
}

#[test]
fn a_slot_that_becomes_free_affects_the_ips_whose_pods_wait_on_that_machine() {
    let mut many_ips = many_ips();
    // A pod on the instance of IP 5 asks for IP 2, which a pod on another node holds.
    let waiting = objects::pod("waiting", "waiting-uid", "ip-00002", Some("uid-2".into()));
    many_ips.deliver(Fact::Pod(Pod {
        node: Some(node_name(1)),
        ..waiting
    }));
    let off = Call::Unassign {
        interface: interface_of("0001"),
        address: address(CHANGED),
    };
    let affected = many_ips.deliver(Fact::Called {
        ip: name(),
        call: off,
        result: Ok(()),
    });
    assert_eq!(affected, several([2, CHANGED]));
}

#[test]
fn an_answered_read_affects_the_ips_that_wait_for_such_an_answer() {
    let mut many_ips = many_ips();
    let node = many_ips.nodes[&node_name(1)].clone();
    let held = objects::reservation_of_others("held", address(100), None);
    let held = Reservation {
        parent: Some("nobody".into()),
        ..held
    };
    let (pod, set) = (pod_key(POD, CHANGED), "set".to_owned());
    let uid = known(&many_ips).uid;
    let other: IpName = "another".into();
    let answers = [
        (
            Read::Node(node_name(1)),
            Fact::NodeRead(node_name(1), Some(node)),
        ),
        (
            Read::Reservation(address(100)),
            Fact::ReservationRead(address(100), Some(held)),
        ),
        (
            Read::Reservations(uid.clone()),
            Fact::ReservationsRead(uid, Vec::new()),
        ),
        (
            Read::Instance("i-1".into()),
            Fact::InstanceRead("i-1".into(), None),
        ),
        (
            Read::ReplicaSets(pod, set),
            Fact::ReplicaSetsRead("set-uid".into(), Vec::new()),
        ),
        (
            Read::Pod(objects::key("nobody")),
            Fact::PodRead(objects::key("nobody"), None),
        ),
        (Read::Ip(other.clone()), Fact::IpRead(other, None)),
    ];
    for (read, answer) in answers {
        assert_eq!(
            many_ips.deliver(answer.clone()),
            Affected::Nothing,
            "{answer:?}"
        );
        let failed = |outcome| Fact::ReadFailed {
            ip: name(),
            read: read.clone(),
            outcome,
        };
        assert_eq!(many_ips.deliver(failed(None)), Affected::One(name()));
        assert_eq!(
            many_ips.deliver(Fact::InstanceRead("other".into(), None)),
            Affected::Nothing
        );
        let text = format!("{answer:?}");
        assert_eq!(many_ips.deliver(answer), Affected::One(name()), "{text}");
    }
}
