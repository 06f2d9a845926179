//! A process that begins to lead keeps only what its watches have shown.
//! Rules: R6.8, R7.1.

use std::time::Duration;

use mooring_plan::facts::{Fact, Facts, Kind};
use mooring_plan::names::{IpName, NodeName, ResourceVersion};
use mooring_plan::objects::{Condition, DataPath, UnreadableIp, UnreadableReport};
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{BlockStep, Read, StatusWrite, Step};
use mooring_plan::time::Instant;

use crate::sim::{Sim, interface_of, status_write};

fn partner() -> IpName {
    IpName::from("partner")
}

fn begins(sim: &mut Sim) -> (&mut Facts, Instant) {
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.lead_begins(now);
    (facts, now)
}

fn is_read_first(facts: &Facts, now: Instant) -> bool {
    facts.decide(&partner(), now).step == Some(Step::Read(Read::Ip(partner())))
}

#[test]
fn a_restore_is_still_to_be_confirmed() {
    let mut sim = Sim::attached(&["n1"]);
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::Restored(Kind::Pod), now, now);
    sim.lead(0);
    sim.remove_pod("a");
    sim.relist(0);
    sim.wait(Duration::from_mins(5));
    let claim = sim.the_ip("partner").status.claim.as_ref();
    assert!(claim.is_some(), "{}", sim.story());
    sim.change_block("block", |block| block.release_brake = true);
    sim.settle();
    sim.expect_free("partner");
}

#[test]
fn an_ip_that_cannot_be_read_is_still_known() {
    let mut sim = Sim::reserved(&["n1"]);
    let now = sim.now;
    let unreadable = UnreadableIp {
        name: "unreadable".into(),
        uid: "its-uid".into(),
        version: ResourceVersion(1),
        problem: "status.address \"garbage\" is not an address".to_owned(),
        report: UnreadableReport::Nothing,
    };
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::IpUnreadable(unreadable), now, now);
    let (facts, _) = begins(&mut sim);
    assert!(facts.knows(&"unreadable".into()));
}

#[test]
fn a_claim_that_is_not_confirmed_still_takes_a_slot() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    sim.deliver(0);
    let (facts, _) = begins(&mut sim);
    let interface = interface_of("n1");
    let pending: Vec<_> = facts
        .pending_for(&interface)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(pending, [&partner()]);
}

#[test]
fn reports_of_node_parts_still_count() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.change_block("block", |block| {
        block.spec.as_mut().unwrap().data_path = DataPath::NodePart;
    });
    sim.kube.start_node_part(&NodeName::from("n1"));
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.remove_pod("a");
    sim.pod("b").on("n1");
    sim.step_until(status_write(StatusWrite::Record));
    sim.deliver(0);
    // The watch does not show the report again.
    sim.controllers[0].stuck.insert(Kind::NodeReport);
    sim.lead(0);
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "b");
}

#[test]
fn a_pod_that_was_seen_terminating_still_does_not_count_as_missing() {
    let mut sim = Sim::attached(&["n1"]);
    sim.change_pod("a", |pod| pod.deleting = Some(30));
    sim.deliver(0);
    sim.remove_pod("a");
    sim.relist(0);
    sim.lead(0);
    sim.wait(Duration::from_secs(30));
    sim.expect_free("partner");
}

#[test]
fn an_ip_that_was_found_to_be_gone_is_still_read_when_a_watch_shows_it() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.deliver(0);
    let before = sim.the_ip("partner").clone();
    let now = sim.now;
    let facts = sim.controllers[0].facts_mut();
    facts.apply(Fact::IpRead(partner(), None), now, now);
    let (facts, now) = begins(&mut sim);
    facts.apply(Fact::Ip(before), now, now);
    assert!(is_read_first(facts, now));
}

#[test]
fn a_read_from_before_is_no_word_on_a_free_ip() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.deliver(0);
    let (asked, before) = (sim.now, sim.the_ip("partner").clone());
    sim.now = asked.plus(Duration::from_secs(1));
    let (facts, now) = begins(&mut sim);
    let read = Fact::IpRead(partner(), Some(before));
    facts.apply(read.clone(), asked, now);
    assert!(is_read_first(facts, now));
    facts.apply(read, now, now);
    assert!(!is_read_first(facts, now));
}

/// A process that has just started keeps the condition of an earlier process.
#[test]
fn a_block_stays_ready_until_ec2_was_asked_in_vain() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.change_block("block", |block| {
        let ready = Condition {
            status: true,
            reason: Reason::Ready,
            message: String::new(),
            generation: block.generation,
        };
        let conditions = &mut block.status.conditions;
        conditions.insert("Ready".to_owned(), ready);
    });
    sim.restart(0);
    sim.deliver(0);
    let waits = |sim: &Sim| {
        let facts = sim.controllers[0].facts();
        let (steps, _) = facts.block_steps(&"block".into(), sim.now);
        steps.iter().any(|step| match step {
            BlockStep::Status { status, .. } => {
                let ready = status.conditions.get("Ready");
                ready.is_some_and(|condition| condition.reason == Reason::Waiting)
            }
            _ => false,
        })
    };
    assert!(!waits(&sim));
    let subnet = crate::sim::SUBNET;
    sim.apply(Fact::InventoryBegun(subnet.into()));
    assert!(!waits(&sim), "asked");
    sim.apply(Fact::InventoryFailed(subnet.into(), Outcome::Unknown));
    assert!(waits(&sim), "asked in vain");
}
