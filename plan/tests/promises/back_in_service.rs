//! A node is put back in service when it is ready and EC2 says that its instance runs.
//! Rule: R3.38.

use std::time::Duration;

use mooring_plan::cloud::InstanceState;
use mooring_plan::facts::Fact;
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;

use crate::fast_failover::{
    HOUR, MOMENT, expect_no_taint_is_written, expect_taint, out_of_service, ready, set_fast,
};
use crate::sim::instance_of;

#[test]
fn a_node_is_put_back_when_it_is_ready_and_ec2_says_that_its_instance_runs() {
    let mut sim = out_of_service(InstanceState::Stopped);
    // Its instance runs again, and its kubelet does not report yet.
    sim.instance("n1", InstanceState::Running);
    expect_no_taint_is_written(&mut sim);
    // The last known state of the Node can be outdated.
    sim.instance("n1", InstanceState::Stopped);
    ready(&mut sim, "n1");
    expect_no_taint_is_written(&mut sim);
    sim.describe_fails = Some(Outcome::Unknown);
    sim.instance("n1", InstanceState::Running);
    expect_no_taint_is_written(&mut sim);
    sim.describe_fails = None;
    sim.wait(Duration::from_secs(31));
    expect_taint(&sim, "n1", false);
    sim.expect_event("node n1", Reason::BackInService);
    sim.node_taken.clear();
    sim.wait(HOUR);
    assert_eq!(sim.node_taken, [], "{}", sim.story());
}

#[test]
fn a_node_is_put_back_although_its_block_no_longer_asks_for_fast_failover() {
    let mut sim = out_of_service(InstanceState::Stopped);
    set_fast(&mut sim, false);
    sim.instance("n1", InstanceState::Running);
    ready(&mut sim, "n1");
    sim.wait(MOMENT);
    expect_taint(&sim, "n1", false);
}

#[test]
fn a_read_of_the_instance_before_its_node_was_back_puts_no_node_back() {
    let mut sim = out_of_service(InstanceState::Stopped);
    sim.now = sim.now.plus(MOMENT);
    let begun = sim.now;
    let running = Fact::InstanceRead(instance_of("n1"), Some(InstanceState::Running));
    sim.now = begun.plus(Duration::from_millis(1));
    let now = sim.now;
    sim.controllers[0].facts_mut().apply(running, begun, now);
    sim.describe_fails = Some(Outcome::Unknown);
    ready(&mut sim, "n1");
    sim.wait(MOMENT);
    expect_taint(&sim, "n1", true);
}
