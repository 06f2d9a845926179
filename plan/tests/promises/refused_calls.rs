//! Refusals of EC2 for one IP, and for all IPs.
//! Rules: R5.5, R5.8, R5.9, R5.16.

use std::time::Duration;

use mooring_plan::reason::Reason;
use mooring_plan::step::{StatusWrite, Step};

use crate::sim::{Fault, Sim, address, status_write};

/// The message of the condition `Attached`, if it has this reason.
fn attached_message(sim: &Sim, ip: &str, reason: Reason) -> Option<String> {
    let conditions = &sim.the_ip(ip).status.conditions;
    let attached = conditions.attached.as_ref();
    let condition = attached.filter(|condition| condition.reason == reason);
    condition.map(|condition| condition.message.clone())
}

#[test]
fn throttling_is_reported_at_once_as_an_event_and_not_yet_as_a_condition() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.ec2.default_fault = Some(|_| Fault::Throttled);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_millis(500));
    sim.expect_event("IP partner", Reason::Throttled);
    assert_eq!(attached_message(&sim, "partner", Reason::Throttled), None);
}

/// EC2 denies the call of this IP and serves the others, and their success shows that before the next inventory.
#[test]
fn a_rollout_that_ec2_denies_to_one_ip_alone_is_undone_at_once() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
    sim.ip("other", "203.0.113.20");
    sim.pod("b").on("n1").asks("other");
    sim.settle();
    sim.expect_attached("other", "b");
    sim.ec2.default_fault = Some(|call| match call.address().to_string().as_str() {
        "203.0.113.10" => Fault::Denied,
        _ => Fault::None,
    });
    sim.next_revision("c", "n2", 2);
    sim.step_until(|step| matches!(step, Step::Call(_)));
    sim.taken.clear();
    sim.delete_ip("other");
    sim.step_until(status_write(StatusWrite::Revert));
    let calls = sim
        .taken
        .iter()
        .filter(|(_, name, step)| name.as_str() == "partner" && matches!(step, Step::Call(_)));
    assert_eq!(calls.count(), 0, "{}", sim.story());
    sim.wait(Duration::from_secs(2));
    sim.expect_attached("partner", "a");
}

#[test]
fn a_call_that_ec2_denies_to_the_ip_is_a_condition_at_once() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.pod("a").on("n1");
    sim.wait(Duration::from_millis(500));
    assert!(attached_message(&sim, "partner", Reason::AccessDenied).is_some());
}

#[test]
fn calls_that_ec2_denies_to_other_ips_are_a_condition_after_some_time() {
    let others = ["b1", "b2", "b3", "b4", "b5"];
    let mut sim = Sim::reserved(&["n1", "n2"]);
    for (number, other) in others.iter().enumerate() {
        sim.ip(other, &format!("203.0.113.{}", 20 + number));
    }
    sim.settle();
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    for other in others {
        sim.pod(&format!("of-{other}")).on("n1").asks(other);
    }
    sim.wait(Duration::from_secs(20));
    // They take turns, here in the order of their names: "partner" is after the last of them.
    let first =
        |step: &Step| matches!(step, Step::Call(call) if call.address() == address("203.0.113.20"));
    sim.step_until(first);
    sim.taken.clear();
    sim.pod("a").on("n2");
    let denied = |sim: &Sim| attached_message(sim, "partner", Reason::AccessDenied).is_some();
    sim.wait(Duration::from_millis(1900));
    assert!(!denied(&sim), "{}", sim.story());
    sim.wait(Duration::from_millis(600));
    assert!(denied(&sim), "{}", sim.story());
    let mut taken = sim.taken.iter();
    let called =
        taken.any(|(_, name, step)| name.as_str() == "partner" && matches!(step, Step::Call(_)));
    assert!(!called, "{}", sim.story());
}

/// The address is already on the ENI of its new pod.
#[test]
fn a_move_on_one_interface_goes_on_while_ec2_denies_calls_to_others() {
    let mut sim = Sim::attached_by_deployment(&["n1"]);
    sim.ip("other", "203.0.113.20");
    sim.pod("o").on("n1").asks("other");
    sim.settle();
    sim.expect_attached("other", "o");
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.delete_ip("other");
    sim.wait(Duration::from_mins(3));
    sim.next_revision("b", "n1", 2);
    sim.wait(Duration::from_secs(10));
    sim.expect_attached("partner", "b");
}
