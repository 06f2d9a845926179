//! An inventory affects the IPs that wait for something, and those that it shows elsewhere; of thousands at rest none.
//! Rule: R1.4.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::facts::{CallError, Fact, WriteOutcome};
use mooring_plan::objects::{Claim, ClaimPhase, Pod, Previous, Refused};
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, Read, Write};
use mooring_world::attached::{address, node_name, pod_key};
use mooring_world::objects::{self, instance_of};

use crate::affected::{CHANGED, changes, crowd, elsewhere, known, name, several};
use crate::crowd::{Crowd, POD};
use crate::sim::INTERVAL;

fn wrote(crowd: &mut Crowd, write: Write, outcome: WriteOutcome) {
    let ip = name();
    crowd.tell(Fact::Wrote { ip, write, outcome });
}

fn remove_take_from(crowd: &Crowd) -> Write {
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
    let error = CallError::new(outcome, outcome.as_str());
    crowd.tell(Fact::Called {
        ip: name(),
        call,
        result: Err(error),
    });
}

/// Changes the spec: another call is needed then, and the last failed call does not count any more.
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

type Change = fn(&mut Crowd);

/// Everything an IP can wait for: in its object, in other objects, or in the memory of this process.
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
        let write = remove_take_from(crowd);
        wrote(crowd, write, WriteOutcome::Conflict);
    }),
    ("a write had no answer", |crowd| {
        let write = remove_take_from(crowd);
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
