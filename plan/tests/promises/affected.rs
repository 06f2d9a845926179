//! An inventory, and what changes a block or a subnet, affect the IPs that wait for something; of thousands at rest none.
//! Rule: R1.4.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::facts::{Affected, CallError, Fact, WriteOutcome};
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::{Block, Claim, ClaimPhase, Ip, Pod, Previous, Refused, Reservation};
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, Read, Write};
use mooring_world::attached::{address, ip_name, node_name, pod_key};
use mooring_world::objects::{self, instance_of, interface_of};

use crate::crowd::{Crowd, POD, block, subnet};
use crate::sim::INTERVAL;

const CHANGED: u32 = 5;
const NODES: u32 = 4;

fn crowd() -> Crowd {
    Crowd::at_rest(12, NODES)
}

fn several(ips: impl IntoIterator<Item = u32>) -> Affected {
    Affected::Several(ips.into_iter().map(ip_name).collect())
}

fn name() -> IpName {
    ip_name(CHANGED)
}

fn known(crowd: &Crowd) -> Ip {
    crowd.facts.ip(&name()).unwrap().clone()
}

fn wrote(crowd: &mut Crowd, write: Write, outcome: WriteOutcome) {
    let ip = name();
    crowd.tell(Fact::Wrote { ip, write, outcome });
}

fn drop_take_from(crowd: &Crowd) -> Write {
    let version = known(crowd).version;
    Write::DropTakeFrom {
        ip: name(),
        version,
    }
}

fn assign_fails(crowd: &mut Crowd, outcome: Outcome) {
    let call = Call::Assign {
        interface: "eni-0001".into(),
        address: address(CHANGED),
        reassign: Reassign::Refuse,
    };
    let error = CallError {
        outcome,
        code: outcome.as_str().to_owned(),
        message: "as the test has it".to_owned(),
    };
    crowd.tell(Fact::Called {
        ip: name(),
        call,
        result: Err(error),
    });
}

/// What is asked of EC2 is another thing then: the last call that failed is void.
fn wishes_something_else(crowd: &mut Crowd) {
    changes(crowd, |ip| {
        ip.desired.as_mut().unwrap().reassign = Reassign::Allow;
    });
}

fn previous() -> Previous {
    Previous {
        address: address(CHANGED),
        interface: "eni-0002".into(),
        instance: Some(instance_of("0002")),
        holder: None,
    }
}

fn other_pod() -> Pod {
    let uid = Some(format!("uid-{CHANGED}").as_str().into());
    objects::pod("other", "other-uid", name().as_str(), uid)
}

/// Another client changes the IP.
fn changes(crowd: &mut Crowd, change: impl FnOnce(&mut Ip)) {
    let mut ip = known(crowd);
    ip.version = ResourceVersion(ip.version.0 + 1);
    change(&mut ip);
    crowd.tell(Fact::Ip(ip));
}

type Change = fn(&mut Crowd);

/// Whatever an IP waits for, in its object, in other objects or in the memory of this process.
const WAITS: &[(&str, Change)] = &[
    ("it asks for another address", |crowd| {
        changes(crowd, |ip| {
            ip.desired.as_mut().unwrap().address = Some(address(100));
        });
    }),
    ("it is being deleted", |crowd| {
        changes(crowd, |ip| ip.deleting = true);
    }),
    ("take-from", |crowd| {
        changes(crowd, |ip| ip.take_from = Some("eni-0002".into()));
    }),
    ("a previous place", |crowd| {
        changes(crowd, |ip| ip.status.previous = vec![previous()]);
    }),
    ("a refused target", |crowd| {
        changes(crowd, |ip| {
            ip.status.refused = Some(Refused {
                pod: "other-uid".into(),
                interface: "eni-0002".into(),
                reason: Reason::NodeFull,
            });
        });
    }),
    ("not Ready", |crowd| {
        changes(crowd, |ip| {
            ip.status.conditions.ready.as_mut().unwrap().status = false;
        });
    }),
    ("no condition", |crowd| {
        changes(crowd, |ip| ip.status.conditions.ready = None);
    }),
    ("claimed and not recorded", |crowd| {
        changes(crowd, |ip| {
            let claim = ip.status.claim.take().unwrap();
            let target = claim.target().unwrap().clone();
            let phase = ClaimPhase::Claimed(target);
            ip.status.claim = Some(Claim { phase, ..claim });
        });
    }),
    ("another pod asks for it", |crowd| {
        crowd.tell(Fact::Pod(other_pod()));
    }),
    ("its holder is missed", |crowd| {
        crowd.tell(Fact::PodRead(pod_key(POD, CHANGED), None));
    }),
    ("it has no reservation", |crowd| {
        crowd.tell(Fact::ReservationGone(address(CHANGED)));
    }),
    ("it has two reservations", |crowd| {
        let uid = known(crowd).uid;
        let held = objects::reservation("second", address(100), &name(), &uid);
        crowd.tell(Fact::Reservation(held));
    }),
    ("a write met a conflict", |crowd| {
        let write = drop_take_from(crowd);
        wrote(crowd, write, WriteOutcome::Conflict);
    }),
    ("a write had no answer", |crowd| {
        let write = drop_take_from(crowd);
        wrote(crowd, write, WriteOutcome::Unknown);
        let ip = known(crowd);
        crowd.tell(Fact::IpRead(name(), Some(ip)));
    }),
    ("an address was taken", |crowd| {
        let ip = known(crowd);
        let write = Write::Reserve {
            ip: ip.name,
            uid: ip.uid,
            version: ip.version,
            address: address(100),
        };
        wrote(crowd, write, WriteOutcome::AlreadyExists);
    }),
    ("a call is throttled", |crowd| {
        assign_fails(crowd, Outcome::Throttled);
    }),
    ("a call was denied", |crowd| {
        assign_fails(crowd, Outcome::Denied);
        wishes_something_else(crowd);
    }),
    ("an interface was refused", |crowd| {
        assign_fails(crowd, Outcome::NoRoom);
        wishes_something_else(crowd);
    }),
    ("a read had no answer", |crowd| {
        let read = Read::Node(node_name(1));
        let (ip, outcome) = (name(), None);
        crowd.tell(Fact::ReadFailed { ip, read, outcome });
    }),
];

#[test]
fn an_inventory_affects_an_ip_that_waits_for_anything() {
    for (what, change) in WAITS {
        let mut crowd = crowd();
        change(&mut crowd);
        assert_eq!(crowd.look(), several([CHANGED]), "{what}");
        assert_eq!(crowd.look(), several([CHANGED]), "{what}, still");
    }
}

#[test]
fn an_inventory_affects_a_free_ip_only_if_its_address_is_somewhere_or_a_pod_asks_for_it() {
    let free = || {
        let mut crowd = crowd();
        crowd.tell(Fact::PodDeleted(
            format!("pod-uid-{CHANGED}").as_str().into(),
        ));
        changes(&mut crowd, |ip| ip.status.claim = None);
        let on = crowd.interfaces.get_mut(&"eni-0001".into()).unwrap();
        on.addresses.remove(&address(CHANGED));
        crowd.look();
        crowd.look();
        crowd
    };
    let mut at_rest = free();
    assert_eq!(at_rest.look(), several([]));
    at_rest.tell(Fact::Pod(other_pod()));
    assert_eq!(at_rest.look(), several([CHANGED]), "a pod asks for it");
    let mut put = free();
    let on = put.interfaces.get_mut(&"eni-0001".into()).unwrap();
    on.addresses.insert(address(CHANGED));
    for _ in 0..3 {
        assert_eq!(
            put.look(),
            several([CHANGED]),
            "another client put it there"
        );
    }
}

#[test]
fn an_inventory_affects_the_ips_that_the_two_before_do_not_agree_about() {
    let mut crowd = crowd();
    let there = |crowd: &mut Crowd, there: bool| {
        let on = crowd.interfaces.get_mut(&"eni-0001".into()).unwrap();
        if there {
            on.addresses.insert(address(CHANGED));
        } else {
            on.addresses.remove(&address(CHANGED));
        }
        crowd.look()
    };
    assert_eq!(there(&mut crowd, false), several([CHANGED]), "it went");
    assert_eq!(there(&mut crowd, true), several([CHANGED]), "it came back");
    assert_eq!(
        there(&mut crowd, true),
        several([CHANGED]),
        "now they agree"
    );
    assert_eq!(there(&mut crowd, true), several([]));
}

#[test]
fn the_first_inventory_after_a_long_silence_affects_all() {
    let mut crowd = crowd();
    crowd.now = crowd.now.plus(INTERVAL * 2);
    assert_eq!(crowd.look(), several(0..12));
    assert_eq!(crowd.look(), several([]));
}

/// A block in another subnet.
fn elsewhere() -> Block {
    let mut block = objects::block("elsewhere", "198.51.100.0/24");
    block.spec.as_mut().unwrap().subnet = "subnet-2".into();
    block
}

#[test]
fn an_inventory_of_another_subnet_affects_only_ips_that_may_come_to_lie_there() {
    let mut crowd = crowd();
    crowd.tell(Fact::Block(elsewhere()));
    let look = |crowd: &mut Crowd| {
        crowd.now = crowd.now.plus(Duration::from_secs(2));
        crowd.tell(Fact::InventoryDone("subnet-2".into(), Vec::new()))
    };
    for _ in 0..3 {
        assert_eq!(look(&mut crowd), several([]));
    }
    changes(&mut crowd, |ip| {
        ip.desired.as_mut().unwrap().block = Some("elsewhere".into());
    });
    assert_eq!(look(&mut crowd), several([CHANGED]));
}

type Wish = fn(&mut Ip);

/// Which wishes are no longer what the IP has.
const WISHES: &[(&str, Wish, bool)] = &[
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
    for (what, change, affected) in WISHES {
        let mut crowd = crowd();
        changes(&mut crowd, change);
        let mut other = block();
        other.name = "other".into();
        let touched = several(affected.then_some(CHANGED));
        assert_eq!(crowd.tell(Fact::Block(other)), touched, "{what}");
        let gone = crowd.tell(Fact::BlockGone("other".into()));
        assert_eq!(gone, touched, "{what}");
    }
}

#[test]
fn a_subnet_without_inventories_affects_its_ips_and_those_that_may_come_to_lie_there() {
    let mut crowd = crowd();
    crowd.tell(Fact::Block(elsewhere()));
    let fails = |crowd: &mut Crowd, subnet: &str| {
        let failed = Fact::InventoryFailed(subnet.into(), Outcome::Denied);
        crowd.tell(failed)
    };
    assert_eq!(fails(&mut crowd, "subnet-2"), several([]));
    crowd.tell(Fact::InventoryDone("subnet-2".into(), Vec::new()));
    changes(&mut crowd, |ip| {
        ip.desired.as_mut().unwrap().address = Some(address(100));
    });
    assert_eq!(fails(&mut crowd, "subnet-2"), several([CHANGED]));
    assert_eq!(fails(&mut crowd, "subnet-2"), Affected::Nothing, "again");
    let first = crowd.tell(Fact::InventoryFailed(subnet(), Outcome::Unknown));
    assert_eq!(first, Affected::Nothing, "once");
    let second = crowd.tell(Fact::InventoryFailed(subnet(), Outcome::Unknown));
    assert_eq!(second, several(0..12), "twice in a row");
}

#[test]
fn a_slot_that_becomes_free_affects_the_ips_whose_pods_wait_on_that_machine() {
    let mut crowd = crowd();
    // A pod on the machine of IP 5 asks for IP 2, which a pod elsewhere holds.
    let waiting = objects::pod("waiting", "waiting-uid", "ip-00002", Some("uid-2".into()));
    crowd.tell(Fact::Pod(Pod {
        node: Some(node_name(1)),
        ..waiting
    }));
    let off = Call::Unassign {
        interface: interface_of("0001"),
        address: address(CHANGED),
    };
    let touched = crowd.tell(Fact::Called {
        ip: name(),
        call: off,
        result: Ok(()),
    });
    assert_eq!(touched, several([2, CHANGED]));
}

#[test]
fn an_answered_read_affects_the_ips_that_wait_for_such_an_answer() {
    let mut crowd = crowd();
    let node = crowd.nodes[&node_name(1)].clone();
    let held = objects::reservation_of_others("held", address(100), None);
    let held = Reservation {
        parent: Some("nobody".into()),
        ..held
    };
    let (pod, set) = (pod_key(POD, CHANGED), "set".to_owned());
    let uid = known(&crowd).uid;
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
        assert_eq!(crowd.tell(answer.clone()), Affected::Nothing, "{answer:?}");
        let failed = |outcome| Fact::ReadFailed {
            ip: name(),
            read: read.clone(),
            outcome,
        };
        assert_eq!(crowd.tell(failed(None)), Affected::One(name()));
        assert_eq!(
            crowd.tell(Fact::InstanceRead("other".into(), None)),
            Affected::Nothing
        );
        let said = format!("{answer:?}");
        assert_eq!(crowd.tell(answer), Affected::One(name()), "{said}");
    }
}
