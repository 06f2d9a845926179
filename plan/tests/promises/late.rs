//! An answer can be late or lost, and a watch can lag behind it: the newer state counts.
//! Rules: R1.23, R1.24, R1.26, R3.23.

use std::time::Duration;

use mooring_plan::facts::{Fact, Kind, WriteOutcome, Written};
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::{Ip, Pod, Reservation};
use mooring_plan::reason::Reason;
use mooring_plan::step::{GateWrite, Read, Step, Write};

use crate::sim::{Sim, address, key};

/// The pod "a" is deleted, and then removed.
fn ends(sim: &mut Sim) {
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
}

/// Pod "a" is deleted. A request from before is answered after the watch has shown the deletion.
fn answered_after_it_went(answer: impl FnOnce(Pod) -> Fact) {
    let mut sim = Sim::attached(&["n1"]);
    let answer = answer(sim.the_pod("a").clone());
    sim.answered_after(answer, ends);
    sim.settle();
    sim.expect_free("partner");
}

#[test]
fn a_read_before_the_deletion_of_a_pod_does_not_restore_it() {
    answered_after_it_went(|pod| Fact::PodRead(key("a"), Some(pod)));
}

#[test]
fn a_write_before_the_deletion_of_a_pod_does_not_restore_it() {
    answered_after_it_went(|pod| {
        let gate = GateWrite {
            pod: pod.key.clone(),
            uid: pod.uid.clone(),
            version: Some(pod.version),
            status: true,
            shown: None,
            reason: Reason::Attached,
            message: String::new(),
            denied_at: None,
        };
        let outcome = WriteOutcome::Done(Some(Written::Pod(pod)));
        Fact::Wrote {
            ip: IpName::from("partner"),
            write: Write::Gate(gate),
            outcome,
        }
    });
}

/// Found by the simulation: the new pod of a `StatefulSet` never got the address.
#[test]
fn a_read_before_a_pod_of_the_same_name_does_not_remove_it() {
    for gone in [true, false] {
        let mut sim = Sim::attached(&["n1"]);
        let earlier = sim.the_pod("a").clone();
        ends(&mut sim);
        sim.deliver(0);
        let answer = Fact::PodRead(key("a"), (!gone).then_some(earlier));
        sim.answered_after(answer, |sim| {
            sim.pod("a").on("n1");
        });
        sim.settle();
        sim.expect_attached("partner", "a");
    }
}

#[test]
fn a_read_of_an_earlier_reservation_does_not_replace_the_present_one() {
    let mut sim = Sim::reserved(&["n1"]);
    let address = address("203.0.113.10");
    let present = &sim.kube.reservations[&address];
    let earlier = Reservation {
        uid: "earlier".to_owned(),
        version: ResourceVersion(present.version.0 - 1),
        parent: Some(IpName::from("other")),
        label: None,
        owner: None,
        ..present.clone()
    };
    let (partner, now) = (IpName::from("partner"), sim.now);
    let facts = sim.controllers[0].facts_mut();
    assert_eq!(facts.decide(&partner, now).step, None);
    facts.apply(Fact::ReservationRead(address, Some(earlier)), now, now);
    assert_eq!(facts.decide(&partner, now).step, None);
}

/// An answer has shown that the reservation was deleted and created again. The watch shows the earlier one after that.
#[test]
fn a_late_watch_does_not_replace_the_reservation_that_an_answer_showed() {
    let mut sim = Sim::reserved(&["n1"]);
    let address = address("203.0.113.10");
    let earlier = sim.kube.reservations[&address].clone();
    let present = Reservation {
        uid: "present".to_owned(),
        version: sim.kube.bump(),
        ..earlier.clone()
    };
    let (partner, now) = (IpName::from("partner"), sim.now);
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::ReservationRead(address, Some(present)), now, now);
    let changed = Reservation {
        version: ResourceVersion(earlier.version.0 + 1),
        label: None,
        owner: None,
        ..earlier.clone()
    };
    for late in [
        Fact::Reservation(changed),
        Fact::ReservationGone(address, earlier.uid),
    ] {
        facts.apply(late.clone(), now, now);
        assert_eq!(facts.decide(&partner, now).step, None, "{late:?}");
    }
}

/// The read found none. Before its answer the watch shows that another IP has reserved the address.
#[test]
fn a_read_before_a_reservation_does_not_remove_it() {
    let mut sim = Sim::reserved(&["n1"]);
    let address = address("203.0.113.10");
    let (partner, now) = (IpName::from("partner"), sim.now);
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::ReservationRead(address, None), now, now);
    assert_eq!(facts.decide(&partner, now).step, None);
}

#[test]
fn a_label_that_came_back_before_its_removal_was_answered_is_seen() {
    let mut sim = Sim::attached(&["n1"]);
    let pod = sim.the_pod("a").clone();
    let removed = Fact::Wrote {
        ip: IpName::from("partner"),
        write: Write::Label {
            pod: pod.key,
            uid: pod.uid,
            ip: None,
        },
        outcome: WriteOutcome::Done(None),
    };
    // The watch shows it without the label, and with it again.
    sim.answered_after(removed, |sim| sim.change_pod("a", |_| {}));
    let facts = sim.controllers[0].facts();
    assert_eq!(facts.decide(&IpName::from("partner"), sim.now).step, None);
}

/// Pod "a" has the address; pod "b" of the next revision is ready, and the watch of this kind stops after that.
pub(crate) fn a_successor_whose_last_event_is_ready(stuck: Kind) -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.count_from_here();
    sim.next_revision("b", "n2", 2);
    sim.deliver(0);
    sim.controllers[0].stuck.insert(stuck);
    sim
}

#[test]
fn a_successor_that_a_read_shows_unready_takes_nothing_over() {
    let mut sim = a_successor_whose_last_event_is_ready(Kind::Pod);
    sim.change_pod("b", |pod| pod.containers_ready = false);
    sim.wait(Duration::from_secs(30));
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
}

#[test]
fn a_deleted_successor_in_a_late_watch_takes_nothing_over() {
    let mut sim = a_successor_whose_last_event_is_ready(Kind::Pod);
    let shown = Pod {
        version: sim.kube.bump(),
        ..sim.the_pod("b").clone()
    };
    sim.remove_pod("b");
    // The read of its `ReplicaSet` reads the pod too.
    let reads = |step: &Step| match step {
        Step::Read(Read::Pod(of) | Read::ReplicaSets(of, _)) => *of == key("b"),
        _ => false,
    };
    sim.step_until(reads);
    let now = sim.now;
    sim.controllers[0]
        .facts_mut()
        .apply(Fact::Pod(shown), now, now);
    sim.wait(Duration::from_secs(30));
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
}

/// The IP is deleted. After a read has shown that, a lagging watch shows the IP while it is being detached.
fn shown_once_more_after(read: impl FnOnce(&mut Sim) -> Option<Ip>) {
    let mut sim = Sim::attached(&["n1"]);
    sim.delete_ip("partner");
    sim.deliver(0);
    sim.controllers[0].stuck.insert(Kind::Ip);
    sim.step_until(|step| matches!(step, Step::Call(_)));
    let name = IpName::from("partner");
    let detaching = sim.controllers[0].facts().ip(&name).unwrap().clone();
    sim.settle();
    sim.expect_gone("partner");
    sim.count_from_here();
    let (read, now) = (read(&mut sim), sim.now);
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::IpRead(name, read), now, now);
    facts.apply(Fact::Ip(detaching), now, now);
    sim.wait(Duration::from_secs(30));
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

/// Found by the simulation: another IP had the address by then, and it could have been on the same ENI.
#[test]
fn a_deleted_ip_in_a_late_watch_causes_no_call() {
    shown_once_more_after(|_| None);
}

#[test]
fn a_replaced_ip_in_a_late_watch_causes_no_call() {
    shown_once_more_after(|sim| {
        sim.ip("partner", "203.0.113.11");
        sim.kube.ips.get(&IpName::from("partner")).cloned()
    });
}

/// The answer to a write for the new IP comes after a lagging watch has shown the earlier one.
#[test]
fn a_write_that_is_answered_after_a_late_watch_needs_a_read_all_the_same() {
    let mut sim = Sim::attached(&["n1"]);
    let name = IpName::from("partner");
    sim.delete_ip("partner");
    sim.deliver(0);
    sim.step_until(|step| matches!(step, Step::Call(_)));
    let detaching = sim.controllers[0].facts().ip(&name).unwrap().clone();
    sim.settle();
    sim.expect_gone("partner");
    sim.ip("partner", "203.0.113.11");
    sim.settle();
    let present = sim.the_ip("partner").clone();
    let (now, facts) = (sim.now, sim.controllers[0].facts_mut());
    // The watch began again with the former IP, which this process has forgotten.
    let shown = Ip {
        version: ResourceVersion(present.version.0 + 1),
        ..detaching
    };
    facts.apply(Fact::Ip(shown), now, now);
    let write = Write::AddFinalizer {
        ip: name.clone(),
        version: present.version,
    };
    let outcome = WriteOutcome::Done(None);
    let answer = Fact::Wrote {
        ip: name.clone(),
        write,
        outcome,
    };
    facts.apply(answer, now, now);
    let next = facts.decide(&name, now).step;
    assert_eq!(next, Some(Step::Read(Read::Ip(name))), "{}", sim.story());
}

#[test]
fn a_reservation_with_a_lost_answer_is_found_without_a_watch_event() {
    for allocated in [false, true] {
        let mut sim = Sim::new();
        sim.node("n1");
        sim.controllers[0].stuck.insert(Kind::Reservation);
        if allocated {
            sim.ip_of_block("partner", "block");
        } else {
            sim.ip("partner", "203.0.113.10");
        }
        sim.pod("a").on("n1");
        // The first write (finalizer) is answered; the answer to the second one (reservation) is lost.
        sim.lost_answers.extend([false, true]);
        sim.settle();
        sim.expect_attached("partner", "a");
        assert_eq!(sim.kube.reservations.len(), 1, "{}", sim.story());
    }
}
