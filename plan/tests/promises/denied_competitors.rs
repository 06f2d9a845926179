//! Several pods want an address, and EC2 denies the move to each: the number of tries does not depend on how many wait.
//! Rules: R5.6, R5.8.

use std::time::Duration;

use mooring_plan::step::{StatusWrite, Step, Write};

use crate::sim::{Fault, Sim, status_write};

fn count(sim: &Sim, counted: impl Fn(&Step) -> bool) -> usize {
    sim.taken.iter().filter(|(.., step)| counted(step)).count()
}

fn claims(sim: &Sim) -> usize {
    count(sim, status_write(StatusWrite::Claim))
}

/// How often the gate of this pod was set to `False`.
fn interruptions(sim: &Sim, pod: &str) -> usize {
    let closes = |step: &Step| matches!(step, Step::Write(Write::Gate(gate)) if !gate.status && gate.pod.name == pod);
    count(sim, closes)
}

/// Two pods of the next revision wait, and EC2 denies every call.
fn denied_rollout() -> Sim {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2", "n3"]);
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.taken.clear();
    sim.next_revision("b", "n2", 2);
    sim.next_revision("c", "n3", 2);
    sim
}

#[test]
fn two_pods_of_a_rollout_do_not_take_turns() {
    let mut sim = denied_rollout();
    sim.wait(Duration::from_secs(50));
    sim.expect_attached("partner", "a");
    // Each pod is tried once, and after that neither.
    assert_eq!(claims(&sim), 2, "{}", sim.story());
    assert_eq!(interruptions(&sim, "a"), 2, "{}", sim.story());
    sim.wait(Duration::from_mins(30));
    sim.expect_attached("partner", "a");
    let claims = claims(&sim);
    assert!((5..=9).contains(&claims), "{claims}\n{}", sim.story());
}

#[test]
fn a_new_pod_of_the_rollout_is_tried_at_once() {
    let mut sim = denied_rollout();
    sim.wait(Duration::from_secs(50));
    sim.ec2.default_fault = None;
    sim.remove_pod("b");
    sim.next_revision("d", "n2", 2);
    sim.wait(Duration::from_secs(5));
    sim.expect_attached("partner", "d");
}

#[test]
fn a_new_leader_knows_the_pod_that_was_denied_last() {
    let mut sim = Sim::attached_by_deployment(&["n1", "n2", "n3"]);
    sim.ec2.default_fault = Some(|_| Fault::Denied);
    sim.next_revision("b", "n2", 2);
    sim.wait(Duration::from_secs(5));
    sim.lead(0);
    sim.taken.clear();
    sim.next_revision("c", "n3", 2);
    sim.wait(Duration::from_secs(45));
    sim.expect_attached("partner", "a");
    // Only the new pod is tried.
    assert_eq!(claims(&sim), 1, "{}", sim.story());
}

/// Found by the property test: the claim went between two pods and back to a pod on a lost node, without a call and
/// without end.
#[test]
fn the_claim_does_not_go_back_to_a_pod_on_a_lost_node() {
    for reassign in [false, true] {
        let mut sim = Sim::attached_by_deployment(&["n1", "n2"]);
        sim.settle_reassignment(reassign);
        sim.ec2.default_fault = Some(|_| Fault::Denied);
        sim.taken.clear();
        for pod in ["b", "c"] {
            sim.pod(pod).on("n2").replica_set("rs1", 1, "dep");
            sim.containers_ready(pod);
        }
        sim.node_fails_under("a", "n1");
        sim.wait(Duration::from_mins(10));
        assert_eq!(claims(&sim), 1, "{}", sim.story());
        let reverts = count(&sim, status_write(StatusWrite::Revert));
        assert_eq!(reverts, 0, "{}", sim.story());
        // The one claim asks again about every second.
        sim.ec2.default_fault = None;
        sim.wait(Duration::from_secs(3));
        sim.expect_attached("partner", "b");
    }
}
