//! Failed calls: what they prove, what is tried again, and when the claim goes back.
//! Rules: R3.9, R4.3, R5.2, R5.3, R5.7, R5.10.

use std::time::Duration;

use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::Step;

use crate::sim::{Fault, Sim};

fn world() -> Sim {
    Sim::reserved(&["n1", "n2", "n3"])
}

fn attached() -> Sim {
    Sim::attached_and_ready(&["n1", "n2", "n3"])
}

#[test]
fn a_call_with_a_lost_answer_is_looked_up_and_not_repeated() {
    let mut sim = world();
    sim.ec2.faults.push_back(Fault::AnswerLost);
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(1, 2, 1);
}

#[test]
fn a_lost_request_is_sent_again() {
    let mut sim = world();
    sim.ec2.faults.push_back(Fault::RequestLost);
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(2, 2, 1);
}

#[test]
fn an_unknown_outcome_waits_for_an_inventory() {
    let mut sim = world();
    sim.ec2.faults.push_back(Fault::RequestLost);
    sim.pod("a").on("n1");
    sim.describe_fails = Some(Outcome::Unknown);
    sim.wait(Duration::from_secs(20));
    assert_eq!(sim.counts.calls(), 1, "{}", sim.story());
    sim.describe_fails = None;
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn every_call_of_a_move_can_lose_its_request_or_its_answer() {
    for reassign in [false, true] {
        for faults in [
            [Fault::AnswerLost, Fault::None],
            [Fault::RequestLost, Fault::None],
            [Fault::None, Fault::AnswerLost],
            [Fault::None, Fault::RequestLost],
            [Fault::AnswerLost, Fault::AnswerLost],
            [Fault::RequestLost, Fault::RequestLost],
            [Fault::Throttled, Fault::Throttled],
        ] {
            let mut sim = attached();
            if reassign {
                sim.allow_reassignment("partner");
            }
            sim.next_revision("b", "n2", 2);
            sim.ec2.faults.extend(faults);
            sim.settle();
            sim.expect_attached("partner", "b");
        }
    }
}

#[test]
fn a_throttled_attach_backs_off_and_completes() {
    let mut sim = world();
    sim.ec2.faults.extend([Fault::Throttled; 5]);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_secs(3));
    assert!(sim.counts.calls() <= 3, "{}", sim.story());
    sim.expect_event("IP partner", Reason::Throttled);
    sim.settle();
    sim.expect_attached("partner", "a");
    // A transient failure is reported only if it lasts.
    sim.expect_cost(6, 3, 2);
}

#[test]
fn holders_stay_while_describes_fail() {
    let mut sim = attached();
    sim.describe_fails = Some(Outcome::Unknown);
    sim.wait(Duration::from_mins(5));
    sim.next_revision("b", "n2", 2);
    sim.count_from_here();
    sim.wait(Duration::from_mins(10));
    sim.expect_attached("partner", "a");
    // The new pod gets the reason.
    sim.expect_cost(0, 0, 1);
    sim.describe_fails = None;
    sim.settle();
    sim.expect_attached("partner", "b");
}

/// EC2 answers no request, or answers again.
fn ec2_is_away(sim: &mut Sim, away: bool) {
    sim.describe_fails = away.then_some(Outcome::Unknown);
    sim.ec2.faults.clear();
    if away {
        sim.ec2.faults.extend([Fault::RequestLost; 10_000]);
    }
}

#[test]
fn half_an_hour_without_ec2_changes_nothing_and_then_everything_comes_at_once() {
    const IPS: u32 = 16;
    let mut sim = Sim::new();
    sim.ec2.limit_addresses(100);
    for node in ["n1", "n2"] {
        sim.node(node);
    }
    for n in 0..IPS {
        sim.ip(&format!("ip{n}"), &format!("203.0.113.{}", 10 + n));
        sim.pod(&format!("old{n}")).on("n1").asks(&format!("ip{n}"));
    }
    sim.settle();
    ec2_is_away(&mut sim, true);
    sim.count_from_here();
    sim.wait(Duration::from_secs(130));
    // A node fails, and a user deletes one IP, while no location is known.
    sim.remove_node("n1");
    for n in 0..IPS {
        sim.delete_pod(&format!("old{n}"));
        sim.pod(&format!("new{n}")).on("n2").asks(&format!("ip{n}"));
    }
    sim.delete_ip("ip0");
    let before = sim.kube.ips.clone();
    sim.wait(Duration::from_mins(30));
    for (name, ip) in &sim.kube.ips {
        let held = |ip: &mooring_plan::objects::Ip| {
            ip.status.claim.as_ref().map(|claim| claim.uid.clone())
        };
        assert_eq!(held(ip), held(&before[name]), "{}", sim.story());
    }
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
    let asked = sim.counts.inventories;
    assert!(asked < 1300, "{asked} inventories");
    ec2_is_away(&mut sim, false);
    sim.count_from_here();
    sim.wait(Duration::from_secs(16));
    for n in 1..IPS {
        sim.expect_attached(&format!("ip{n}"), &format!("new{n}"));
    }
    sim.expect_gone("ip0");
    assert_eq!(sim.counts.calls(), 2 * IPS - 1, "{}", sim.story());
}

#[test]
fn few_calls_are_made_while_ec2_is_unreachable() {
    let mut sim = attached();
    sim.next_revision("b", "n2", 2);
    sim.step_until(|step| matches!(step, Step::Call(_)));
    ec2_is_away(&mut sim, true);
    sim.count_from_here();
    sim.wait(Duration::from_mins(30));
    assert!(sim.counts.calls() <= 10, "{:?}", sim.counts);
    ec2_is_away(&mut sim, false);
    sim.wait(Duration::from_secs(45));
    sim.expect_attached("partner", "b");
}

#[test]
fn a_lagging_describe_costs_no_second_call() {
    let mut sim = attached();
    sim.ec2.lag = Duration::from_secs(9);
    sim.next_revision("b", "n2", 2);
    sim.settle();
    sim.expect_attached("partner", "b");
    sim.expect_cost(2, 3, 2);
}

#[test]
fn a_detach_with_a_lost_call_is_repeated_before_any_release() {
    for fault in [
        Fault::AnswerLost,
        Fault::RequestLost,
        Fault::Throttled,
        Fault::Denied,
    ] {
        let mut sim = attached();
        sim.ec2.faults.push_back(fault);
        sim.delete_ip("partner");
        sim.settle();
        sim.expect_gone("partner");
        sim.expect_on("203.0.113.10", None);
    }
}

#[test]
fn an_assign_that_lands_after_its_unrecorded_claim_has_ended_is_taken_off_again() {
    let mut sim = world();
    sim.pod("a").on("n1");
    sim.ec2.faults.push_back(Fault::RequestLost);
    sim.step_until(|step| matches!(step, Step::Call(_)));
    sim.delete_pod("a");
    let _ = sim.step(0);
    sim.remove_pod("a");
    sim.wait(Duration::from_secs(8));
    sim.expect_free("partner");
    // Now the late call is executed.
    sim.found_on("203.0.113.10", Some("eni-n1"));
    sim.settle();
    sim.expect_free("partner");
}

#[test]
fn lost_answers_of_the_api_server_have_the_same_result() {
    for lost in 0..12 {
        let mut sim = attached();
        sim.next_revision("b", "n2", 2);
        sim.lost_answers.extend((0..12).map(|n| n == lost));
        sim.settle();
        sim.expect_attached("partner", "b");
    }
}
