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

use crate::affected::{CHANGED, changes, elsewhere, known, many_ips, name, several};
use crate::many_ips::{ManyIps, POD};
use crate::sim::INTERVAL;

fn wrote(many_ips: &mut ManyIps, write: Write, outcome: WriteOutcome) {
    let ip = name();
    many_ips.deliver(Fact::Wrote { ip, write, outcome });
}

fn remove_take_from(many_ips: &ManyIps) -> Write {
    let version = known(many_ips).version;
    Write::DropTakeFrom {
        ip: name(),
        version,
    }
}

fn assign_fails(many_ips: &mut ManyIps, outcome: Outcome) {
    let call = Call::Assign {
        interface: "eni-0001".into(),
        address: address(CHANGED),
        reassign: Reassign::Refuse,
    };
    let error = CallError::new(outcome, outcome.as_str());
    many_ips.deliver(Fact::Called {
        ip: name(),
        call,
        result: Err(error),
    });
}

/// Changes the spec: another call is needed then, and the last failed call does not count any more.
fn asks_for_something_else(many_ips: &mut ManyIps) {
    changes(many_ips, |ip| {
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

type Change = fn(&mut ManyIps);

/// Everything an IP can wait for: in its object, in other objects, or in the memory of this process.
const WAITS: &[(&str, Change)] = &[
    ("it asks for another address", |many_ips| {
        changes(many_ips, |ip| {
            ip.desired.as_mut().unwrap().address = Some(address(100));
        });
    }),
    ("it is being deleted", |many_ips| {
        changes(many_ips, |ip| ip.deleting = true);
    }),
    ("take-from", |many_ips| {
        changes(many_ips, |ip| ip.take_from = Some("eni-0002".into()));
    }),
    ("a previous place", |many_ips| {
        changes(many_ips, |ip| ip.status.previous = vec![previous()]);
    }),
    ("a refused target", |many_ips| {
        changes(many_ips, |ip| {
            ip.status.refused = Some(Refused {
                pod: "other-uid".into(),
                interface: "eni-0002".into(),
                reason: Reason::NodeFull,
            });
        });
    }),
    ("not Ready", |many_ips| {
        changes(many_ips, |ip| {
            ip.status.conditions.ready.as_mut().unwrap().status = false;
        });
    }),
    ("no condition", |many_ips| {
        changes(many_ips, |ip| ip.status.conditions.ready = None);
    }),
    ("claimed and not recorded", |many_ips| {
        changes(many_ips, |ip| {
            let claim = ip.status.claim.take().unwrap();
            let target = claim.target().unwrap().clone();
            let phase = ClaimPhase::Claimed(target);
            ip.status.claim = Some(Claim { phase, ..claim });
        });
    }),
    ("another pod asks for it", |many_ips| {
        many_ips.deliver(Fact::Pod(other_pod()));
    }),
    ("its holder is missed", |many_ips| {
        many_ips.deliver(Fact::PodRead(pod_key(POD, CHANGED), None));
    }),
    ("it has no reservation", |many_ips| {
        let uid = format!("reservation-{CHANGED}");
        many_ips.deliver(Fact::ReservationGone(address(CHANGED), uid));
    }),
    ("it has two reservations", |many_ips| {
        let uid = known(many_ips).uid;
        let held = objects::reservation("second", address(100), &name(), &uid);
        many_ips.deliver(Fact::Reservation(held));
    }),
    ("a write met a conflict", |many_ips| {
        let write = remove_take_from(many_ips);
        wrote(many_ips, write, WriteOutcome::Conflict);
    }),
    ("a write had no answer", |many_ips| {
        let write = remove_take_from(many_ips);
        wrote(many_ips, write, WriteOutcome::Unknown);
        let ip = known(many_ips);
        many_ips.deliver(Fact::IpRead(name(), Some(ip)));
    }),
    ("an address was taken", |many_ips| {
        let ip = known(many_ips);
        let write = Write::Reserve {
            ip: ip.name,
            uid: ip.uid,
            version: ip.version,
            address: address(100),
        };
        wrote(many_ips, write, WriteOutcome::AlreadyExists);
    }),
    ("a call is throttled", |many_ips| {
        assign_fails(many_ips, Outcome::Throttled);
    }),
    ("a call was denied", |many_ips| {
        assign_fails(many_ips, Outcome::Denied);
        asks_for_something_else(many_ips);
    }),
    ("an interface was refused", |many_ips| {
        assign_fails(many_ips, Outcome::NoRoom);
        asks_for_something_else(many_ips);
    }),
    ("a read had no answer", |many_ips| {
        let read = Read::Node(node_name(1));
        let (ip, outcome) = (name(), None);
        many_ips.deliver(Fact::ReadFailed { ip, read, outcome });
    }),
];

#[test]
fn an_inventory_affects_an_ip_that_waits_for_anything() {
    for (what, change) in WAITS {
        let mut many_ips = many_ips();
        change(&mut many_ips);
        assert_eq!(many_ips.look(), several([CHANGED]), "{what}");
        assert_eq!(many_ips.look(), several([CHANGED]), "{what}, still");
    }
}

#[test]
fn an_inventory_affects_a_free_ip_only_if_its_address_is_somewhere_or_a_pod_asks_for_it() {
    let free = || {
        let mut many_ips = many_ips();
        many_ips.deliver(Fact::PodDeleted(
            format!("pod-uid-{CHANGED}").as_str().into(),
        ));
        changes(&mut many_ips, |ip| ip.status.claim = None);
        let on = many_ips.interfaces.get_mut(&"eni-0001".into()).unwrap();
        on.addresses.remove(&address(CHANGED));
        many_ips.look();
        many_ips.look();
        many_ips
    };
    let mut at_rest = free();
    assert_eq!(at_rest.look(), several([]));
    at_rest.deliver(Fact::Pod(other_pod()));
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
    let mut many_ips = many_ips();
    let there = |many_ips: &mut ManyIps, there: bool| {
        let on = many_ips.interfaces.get_mut(&"eni-0001".into()).unwrap();
        if there {
            on.addresses.insert(address(CHANGED));
        } else {
            on.addresses.remove(&address(CHANGED));
        }
        many_ips.look()
    };
    assert_eq!(there(&mut many_ips, false), several([CHANGED]), "it went");
    assert_eq!(
        there(&mut many_ips, true),
        several([CHANGED]),
        "it came back"
    );
    assert_eq!(
        there(&mut many_ips, true),
        several([CHANGED]),
        "now they agree"
    );
    assert_eq!(there(&mut many_ips, true), several([]));
}

#[test]
fn the_first_inventory_after_a_long_silence_affects_all() {
    let mut many_ips = many_ips();
    many_ips.now = many_ips.now.plus(INTERVAL * 2);
    assert_eq!(many_ips.look(), several(0..12));
    assert_eq!(many_ips.look(), several([]));
}

#[test]
fn an_inventory_of_another_subnet_affects_only_ips_that_may_come_to_lie_there() {
    let mut many_ips = many_ips();
    many_ips.deliver(Fact::Block(elsewhere()));
    many_ips.subnet_exists("subnet-2");
    let look = |many_ips: &mut ManyIps| {
        many_ips.now = many_ips.now.plus(Duration::from_secs(2));
        many_ips.deliver(Fact::InventoryDone("subnet-2".into(), Vec::new()))
    };
    for _ in 0..3 {
        assert_eq!(look(&mut many_ips), several([]));
    }
    changes(&mut many_ips, |ip| {
        ip.desired.as_mut().unwrap().block = Some("elsewhere".into());
    });
    assert_eq!(look(&mut many_ips), several([CHANGED]));
}
