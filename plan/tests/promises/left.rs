//! A place that is proven empty is like any other ENI: an address that is there later is foreign.
//! Rules: R4.18 to R4.22, R4.33.

use std::time::Duration;

use mooring_plan::reason::Reason;

use crate::sim::{Fault, INTERVAL, Sim};

const ADDRESS: &str = "203.0.113.10";

fn places(sim: &Sim) -> Vec<&str> {
    let previous = &sim.the_ip("partner").status.previous;
    let named = previous.iter().map(|entry| entry.interface.as_str());
    named.collect()
}

/// Pod "a" had the address on n1, and "b" has it on n2.
fn moved() -> Sim {
    let mut sim = Sim::reserved(&["n1", "n2"]);
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "b");
    sim
}

/// Pod "a" had the address on n1, and no pod has it now.
fn detached() -> Sim {
    let mut sim = Sim::attached(&["n1", "n2"]);
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.wait(Duration::from_secs(2));
    sim.expect_free("partner");
    sim
}

#[test]
fn a_previous_place_is_listed_until_two_inventories_show_it_empty() {
    for (mut sim, then) in [(moved(), Reason::Attached), (detached(), Reason::Unclaimed)] {
        assert_eq!(places(&sim), ["eni-n1"]);
        sim.count_from_here();
        sim.wait(Duration::from_secs(9));
        assert_eq!(places(&sim), ["eni-n1"], "a call may still land");
        sim.settle();
        assert!(places(&sim).is_empty(), "{}", sim.story());
        sim.expect_reason("partner", then);
        sim.expect_cost(0, 1, 0);
    }
}

#[test]
fn an_address_put_on_a_previous_place_is_unassigned() {
    let mut sim = detached();
    sim.found_on(ADDRESS, Some("eni-n1"));
    sim.settle();
    sim.expect_free("partner");
    assert!(places(&sim).is_empty(), "{}", sim.story());
    assert_eq!(sim.counts.unassigns, 2, "{}", sim.story());
}

#[test]
fn an_address_put_there_hours_later_stays_and_is_not_reused() {
    for restarted in [false, true] {
        let mut sim = detached();
        sim.wait(Duration::from_hours(2));
        sim.found_on(ADDRESS, Some("eni-n1"));
        sim.count_from_here();
        if restarted {
            sim.restart(0);
        }
        sim.wait(Duration::from_hours(1));
        sim.expect_on(ADDRESS, Some("eni-n1"));
        assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
        sim.expect_reason("partner", Reason::AddressInUse);
        sim.expect_event("IP partner", Reason::AddressInUse);
        sim.pod("b").on("n2");
        sim.settle();
        sim.expect_on(ADDRESS, Some("eni-n1"));
        sim.expect_reason("partner", Reason::AddressInUse);
        assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
        sim.take_from("partner", "eni-n1");
        sim.settle();
        sim.expect_attached("partner", "b");
    }
}

#[test]
fn an_address_put_there_hours_later_is_not_taken_for_its_holder() {
    let mut sim = moved();
    sim.wait(Duration::from_hours(2));
    sim.found_on(ADDRESS, Some("eni-n1"));
    sim.count_from_here();
    sim.settle();
    sim.expect_on(ADDRESS, Some("eni-n1"));
    sim.expect_reason("partner", Reason::AddressInUse);
    sim.expect_denied("b", Reason::AddressInUse);
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn an_address_put_there_hours_later_stays_when_the_ip_is_deleted() {
    let mut sim = detached();
    sim.wait(Duration::from_hours(2));
    sim.found_on(ADDRESS, Some("eni-n1"));
    sim.count_from_here();
    sim.delete_ip("partner");
    sim.settle();
    sim.expect_gone("partner");
    sim.expect_on(ADDRESS, Some("eni-n1"));
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn an_unrecorded_claim_keeps_its_previous_places() {
    let mut sim = moved();
    sim.ec2.faults.extend([Fault::None]);
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    sim.next_revision("c", "n1", 3);
    sim.wait(INTERVAL * 10);
    assert_eq!(places(&sim), ["eni-n2"], "{}", sim.story());
    sim.ec2.default_fault = None;
    sim.settle();
    sim.expect_attached("partner", "c");
    assert!(places(&sim).is_empty(), "{}", sim.story());
}

#[test]
fn inventories_during_a_possible_late_call_prove_nothing() {
    let mut sim = moved();
    sim.wait(Duration::from_secs(9));
    sim.restart(0);
    sim.wait(Duration::from_secs(30));
    assert_eq!(places(&sim), ["eni-n1"], "{}", sim.story());
    sim.settle();
    assert!(places(&sim).is_empty(), "{}", sim.story());
}

#[test]
fn an_old_address_that_another_ip_has_is_not_listed() {
    let mut sim = Sim::attached(&["n1"]);
    sim.edit("partner", "203.0.113.20");
    sim.wait(Duration::from_secs(2));
    sim.ip("other", ADDRESS);
    sim.pod("b").asks("other").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_attached("other", "b");
    sim.expect_on(ADDRESS, Some("eni-n1"));
    assert!(places(&sim).is_empty(), "{}", sim.story());
}
