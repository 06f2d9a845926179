//! When an ENI has room for one more address: its addresses and the moves that are on their way take its slots.
//! Rule: R3.9.

use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::engine::{Effect, Reconciled};
use mooring_plan::facts::{Affected, Fact, WriteOutcome};
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::reason::Reason;
use mooring_plan::step::{StatusWrite, Step, Write};

use crate::sim::{Ec2, Sim, interface_of};

/// A world in which each ENI can have this number of addresses, including the primary one.
fn with_limit(limit: u32) -> Sim {
    let mut sim = Sim::new();
    sim.ec2 = Ec2::with_limit(limit);
    sim.node("n1");
    sim.ip("other", "203.0.113.20");
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim
}

fn is_claim(step: &Step) -> bool {
    matches!(
        step,
        Step::Write(Write::Status {
            change: StatusWrite::Claim,
            ..
        })
    )
}

/// True if the next step of "partner" is a claim.
fn claims(sim: &Sim) -> bool {
    let facts = sim.controllers[0].facts();
    let decision = facts.decide(&IpName::from("partner"), sim.now);
    let full = |notice: &mooring_plan::step::Notice| notice.reason == Reason::NodeFull;
    let claims = decision.step.as_ref().is_some_and(is_claim);
    assert_eq!(claims, !decision.notices.iter().any(full), "{decision:?}");
    claims
}

#[test]
fn an_address_in_transit_takes_exactly_one_slot() {
    for (limit, room) in [(2, false), (3, true)] {
        let mut sim = with_limit(limit);
        sim.pod("a").on("n1").asks("other");
        sim.pod("b").on("n1");
        sim.step_until(is_claim);
        assert_eq!(claims(&sim), room, "on its way, with {limit}");
        sim.step_until(|step| matches!(step, Step::Call(_)));
        assert_eq!(claims(&sim), room, "there, with {limit}");
    }
}

/// A world with one free slot, in which the claim of "other" is begun, and that write.
fn begun() -> (Sim, IpName, Write) {
    let mut sim = with_limit(2);
    sim.pod("a").on("n1").asks("other");
    sim.pod("b").on("n1");
    loop {
        match sim.in_hand(0) {
            Some((ip, step)) if is_claim(&step) => {
                assert!(claims(&sim), "there is room\n{}", sim.story());
                let engine = &mut sim.controllers[0].engine;
                let Reconciled::Begun(Effect::Write { write, .. }) = engine.reconcile(&ip, sim.now)
                else {
                    panic!("not begun\n{}", sim.story());
                };
                assert_ne!(ip, IpName::from("partner"));
                return (sim, ip, write);
            }
            Some((ip, step)) => sim.carry_out(0, &ip, &step),
            None => sim.wait(Duration::from_millis(1)),
        }
    }
}

/// The former leader knew that there is no room for the next pod of the rollout.
#[test]
fn a_new_leader_takes_no_address_from_a_holder_before_it_knows_the_limit() {
    let mut sim = with_limit(2);
    sim.node("n2");
    sim.pod("o").on("n2").asks("other");
    sim.next_revision("a", "n1", 1);
    sim.settle();
    sim.next_revision("b", "n2", 2);
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.taken.clear();
    sim.limits_wait = true;
    sim.lead(0);
    sim.wait(Duration::from_secs(9));
    sim.limits_wait = false;
    sim.settle();
    sim.expect_attached("partner", "a");
    let claimed = sim.taken.iter().any(|(.., step)| is_claim(step));
    assert!(!claimed, "{}", sim.story());
}

#[test]
fn a_claim_takes_its_slot_when_its_write_is_sent() {
    let (sim, ..) = begun();
    assert!(!claims(&sim), "{}", sim.story());
}

#[test]
fn a_claim_that_was_not_written_gives_its_slot_back() {
    for outcome in [WriteOutcome::Conflict, WriteOutcome::NotFound] {
        let (mut sim, ip, write) = begun();
        let answer = Fact::Wrote { ip, write, outcome };
        assert!(affects_partner(&mut sim, answer));
        assert!(claims(&sim), "{}", sim.story());
    }
}

#[test]
fn a_claim_that_may_have_been_written_keeps_its_slot_until_the_ip_is_read() {
    let (mut sim, ip, write) = begun();
    let unknown = Fact::Wrote {
        ip: ip.clone(),
        write,
        outcome: WriteOutcome::Unknown,
    };
    affects_partner(&mut sim, unknown);
    assert!(!claims(&sim), "{}", sim.story());
    let known = sim.the_ip(ip.as_str()).clone();
    assert!(affects_partner(&mut sim, Fact::IpRead(ip, Some(known))));
    assert!(claims(&sim), "{}", sim.story());
}

#[test]
fn a_written_claim_of_an_ip_that_is_gone_gives_its_slot_back() {
    let mut sim = with_limit(2);
    sim.pod("a").on("n1").asks("other");
    sim.pod("b").on("n1");
    sim.step_until(is_claim);
    let claimed = if sim.the_ip("other").status.claim.is_some() {
        "other"
    } else {
        "partner"
    };
    assert_eq!(claimed, "other", "{}", sim.story());
    let uid = sim.the_ip(claimed).uid.clone();
    let gone = Fact::IpGone(IpName::from(claimed), uid);
    assert!(affects_partner(&mut sim, gone));
}

#[test]
fn a_claim_of_an_ip_that_is_gone_gives_its_slot_back() {
    let (mut sim, ip, _) = begun();
    let uid = sim.the_ip(ip.as_str()).uid.clone();
    assert!(affects_partner(&mut sim, Fact::IpGone(ip, uid)));
    assert!(claims(&sim), "{}", sim.story());
}

#[test]
fn a_new_lead_keeps_the_slots_of_claims_that_were_sent() {
    let (mut sim, ip, _) = begun();
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.lead_begins(now);
    let interface = interface_of("n1");
    let pending: Vec<_> = facts.pending_for(&interface).collect();
    assert_eq!(pending, [(&ip, "203.0.113.20".parse().unwrap())]);
}

#[test]
fn a_claim_counts_once_on_its_own_interface_with_its_new_address() {
    let (mut sim, ip, write) = begun();
    let Write::Status {
        status, version, ..
    } = write
    else {
        panic!("{write:?}");
    };
    let interface = interface_of("n1");
    let now = sim.now;
    let mut shown = sim.the_ip(ip.as_str()).clone();
    shown.version = ResourceVersion(version.0 + 1);
    shown.status = status;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::Ip(shown), now, now);
    assert_eq!(facts.pending_for(&interface).count(), 1);
    assert_eq!(facts.pending_for(&interface_of("n2")).count(), 0);
    let edited: Address = "203.0.113.30".parse().unwrap();
    let sent = Fact::ClaimBegun(ip.clone(), interface.clone(), edited);
    facts.apply(sent, now, now);
    let pending: Vec<_> = facts.pending_for(&interface).map(|(_, at)| at).collect();
    assert_eq!(pending, ["203.0.113.20".parse().unwrap(), edited]);
}

/// Applies a fact to the controller; true if "partner" is decided again.
fn affects_partner(sim: &mut Sim, fact: Fact) -> bool {
    let now = sim.now;
    match sim.controllers[0].facts_mut().apply(fact, now, now) {
        Affected::Several(ips) => ips.contains(&"partner".into()),
        Affected::All => true,
        Affected::One(_) | Affected::Nothing => false,
    }
}

#[test]
fn a_full_interface_is_reported_and_a_freed_slot_is_used() {
    let mut sim = with_limit(2);
    sim.pod("a").on("n1").asks("other");
    sim.settle();
    sim.pod("b").on("n1");
    sim.settle();
    sim.expect_event("b", Reason::NodeFull);
    sim.delete_pod("a");
    sim.deliver(0);
    sim.remove_pod("a");
    sim.settle();
    sim.expect_attached("partner", "b");
}

#[test]
fn a_moved_address_leaves_its_slot_at_once() {
    let mut sim = with_limit(2);
    sim.node("n2");
    sim.allow_reassignment("partner");
    sim.pod("a").on("n1").replica_set("rs1", 1, "dep");
    sim.settle();
    sim.expect_attached("partner", "a");
    for (pod, node, revision) in [("b", "n2", 2), ("c", "n1", 3), ("d", "n2", 4)] {
        sim.next_revision(pod, node, revision);
        sim.wait(Duration::from_secs(2));
        sim.expect_attached("partner", pod);
    }
    sim.pod("o").on("n1").asks("other");
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("other", "o");
}

#[test]
fn a_new_leader_that_knows_the_limit_hands_over_at_once() {
    let mut sim = with_limit(3);
    sim.node("n2");
    sim.next_revision("a", "n1", 1);
    sim.settle();
    sim.lead(0);
    sim.wait(Duration::from_secs(2));
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(5));
    sim.expect_attached("partner", "b");
}
