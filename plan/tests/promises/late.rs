//! An answer may come late, or be lost, and a watch may lag behind it: what is newer counts.
//! Rules: R1.23, R1.24, R3.23.

use std::time::Duration;

use mooring_plan::facts::{Fact, Kind, WriteOutcome, Written};
use mooring_plan::names::IpName;
use mooring_plan::objects::{Ip, Pod};
use mooring_plan::reason::Reason;
use mooring_plan::step::{GateWrite, Read, Step, Write};

use crate::sim::{Sim, key};

/// Pod "a" goes, and what was asked of the API server before is answered after a watch has shown that.
fn answered_after_it_went(answer: impl FnOnce(Pod) -> Fact) {
    let mut sim = Sim::attached(&["n1"]);
    let (asked, then) = (sim.now, sim.the_pod("a").clone());
    sim.delete_pod("a");
    sim.tell(0);
    sim.remove_pod("a");
    sim.tell(0);
    let now = asked.plus(Duration::from_millis(1));
    sim.controllers[0].receive(answer(then), None, asked, now);
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

/// Pod "a" has the address; the next revision's "b" is ready, and no watch of pods shows anything after that.
fn a_successor_whose_last_event_is_ready() -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.count_from_here();
    sim.next_revision("b", "n2", 2);
    sim.tell(0);
    sim.controllers[0].stuck.insert(Kind::Pod);
    sim
}

#[test]
fn a_successor_that_a_read_shows_unready_takes_nothing_over() {
    let mut sim = a_successor_whose_last_event_is_ready();
    sim.change_pod("b", |pod| pod.containers_ready = false);
    sim.wait(Duration::from_secs(30));
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
}

#[test]
fn a_deleted_successor_in_a_late_watch_takes_nothing_over() {
    let mut sim = a_successor_whose_last_event_is_ready();
    let shown = Pod {
        version: sim.kube.bump(),
        ..sim.the_pod("b").clone()
    };
    sim.remove_pod("b");
    sim.step_until(|step| matches!(step, Step::Read(Read::Pod(of)) if *of == key("b")));
    let now = sim.now;
    sim.controllers[0]
        .facts_mut()
        .apply(Fact::Pod(shown), now, now);
    sim.wait(Duration::from_secs(30));
    sim.expect_attached("partner", "a");
    sim.expect_cost(0, 0, 0);
}

/// The IP goes, and after a read has said so a watch that lags shows it being detached.
fn shown_once_more_after(read: impl FnOnce(&mut Sim) -> Option<Ip>) {
    let mut sim = Sim::attached(&["n1"]);
    sim.delete_ip("partner");
    sim.tell(0);
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

/// Seen in the simulation: the address was another IP's by then, and could have been on that very interface.
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
        // The finalizer, then the reservation.
        sim.lost_answers.extend([false, true]);
        sim.settle();
        sim.expect_attached("partner", "a");
        assert_eq!(sim.kube.reservations.len(), 1, "{}", sim.story());
    }
}
