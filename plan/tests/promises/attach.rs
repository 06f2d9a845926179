//! A pod gets its address with one call to EC2, two status writes and one write to the pod.
//! Rules: R3.1, R3.16, R4.1, R4.31.

use mooring_plan::objects::Namespaces;
use mooring_plan::reason::Reason;

use crate::sim::Sim;

#[test]
fn a_new_ip_is_reserved_and_stays_idle() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.expect_free("partner");
    sim.expect_reason("partner", Reason::Unclaimed);
}

#[test]
fn a_pod_gets_its_address_with_one_call() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.count_from_here();
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_attached("partner", "a");
    sim.expect_cost(1, 2, 1);
}

#[test]
fn a_pod_without_admission_gets_no_address() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("ungated").on("n1");
    sim.change_pod("ungated", |pod| pod.gated = false);
    sim.pod("meant-for-another").on("n1");
    sim.change_pod("meant-for-another", |pod| pod.ip = Some("ip-of-old".into()));
    sim.settle();
    sim.expect_free("partner");
    sim.expect_event("ungated", Reason::NoEligibleNode);
    sim.expect_event("meant-for-another", Reason::StalePod);
    assert_eq!(sim.counts.calls(), 0, "{}", sim.story());
}

#[test]
fn a_namespace_that_is_not_allowed_gets_no_address() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    let other = Namespaces::listed(["prod"]);
    sim.change_spec("partner", |desired| desired.allowed_namespaces = other);
    sim.pod("a").on("n1");
    sim.settle();
    sim.expect_free("partner");
    sim.expect_event("a", Reason::NoEligibleNode);
    sim.change_spec("partner", |desired| {
        desired.allowed_namespaces = Namespaces::All;
    });
    sim.settle();
    sim.expect_attached("partner", "a");
}

#[test]
fn a_node_outside_the_subnet_gets_no_address_and_the_pod_a_reason() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.node("n2");
    sim.ec2.delete_interface(&crate::sim::interface_of("n2"));
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n2");
    sim.settle();
    sim.expect_free("partner");
    sim.expect_event("a", Reason::NoEligibleNode);
}

#[test]
fn the_oldest_of_two_pods_without_a_controller_gets_it() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("first").on("n1");
    sim.pod("second").on("n1");
    sim.settle();
    sim.expect_attached("partner", "first");
    sim.expect_event("second", Reason::ClaimedByOther);
}
