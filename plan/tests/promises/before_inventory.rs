//! Before an inventory shows the interfaces of a subnet, no pod gets the reason that its node has none.
//! Rules: R1.11, R3.6.

use std::time::Duration;

use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;

use crate::sim::Sim;

/// A new process, to which EC2 answers every Describe with this outcome. A pod waits on a node, and another one for a
/// node.
fn unanswered(outcome: Outcome) -> Sim {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.20");
    sim.ip("other", "203.0.113.21");
    sim.settle();
    sim.describe_fails = Some(outcome);
    sim.restart(0);
    sim.pod("bound").on("n1").asks("partner");
    sim.pod("pending").asks("other");
    sim.wait(Duration::from_secs(30));
    sim
}

#[test]
fn the_ip_says_what_ec2_does_not_answer_and_no_pod_that_its_node_lacks_an_interface() {
    for (outcome, reason) in [
        (Outcome::Unknown, Reason::AttachFailed),
        (Outcome::Denied, Reason::AccessDenied),
        (Outcome::Throttled, Reason::Throttled),
    ] {
        let mut sim = unanswered(outcome);
        assert!(
            sim.rules.notices(Reason::NoEligibleNode).is_empty(),
            "{outcome}"
        );
        sim.expect_reason("partner", reason);
        sim.expect_denied("bound", reason);

        sim.describe_fails = None;
        sim.wait(Duration::from_mins(1));
        sim.expect_attached("partner", "bound");
    }
}

#[test]
fn the_message_names_the_subnet_and_the_tags_that_an_interface_needs() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.change_block("block", |block| {
        let spec = block.spec.as_mut().unwrap();
        spec.interface_tags = [("use".to_owned(), "partners".to_owned())].into();
    });
    sim.ip("partner", "203.0.113.20");
    sim.pod("bound").on("n1").asks("partner");
    sim.wait(Duration::from_secs(30));
    let notices = sim.rules.notices(Reason::NoEligibleNode);
    let message = &notices.first().unwrap().message;
    for words in ["node n1", "subnet-", "use=partners", "block block"] {
        assert!(message.contains(words), "{message}");
    }
}
