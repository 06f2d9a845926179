//! The status of a block, and which of its conditions are Events too.
//! Rules: R3.6, R5.21, R5.22.

use std::collections::BTreeMap;
use std::time::Duration;

use mooring_plan::cloud::{CniUse, Subnet};
use mooring_plan::facts::Fact;
use mooring_plan::names::SubnetId;
use mooring_plan::objects::{BlockStatus, Condition};
use mooring_plan::reason::Reason;

use super::{condition, look, next_inventory, next_status, settle_block, status, world};
use crate::sim::{INTERVAL, SUBNET, Sim, interface_of};

#[test]
fn an_unreadable_spec_is_reported_and_the_counts_stay() {
    let mut sim = world();
    let before = status(&mut sim);
    sim.change_block("block", |block| {
        block.generation = 7;
        block.spec = Err("203.0.113.5/24 has bits set".to_owned());
    });
    let after = status(&mut sim);
    let ready = Condition {
        status: false,
        reason: Reason::Invalid,
        message: "203.0.113.5/24 has bits set".to_owned(),
        generation: 7,
    };
    assert_eq!(
        after,
        BlockStatus {
            conditions: BTreeMap::from([("Ready".to_owned(), ready)]),
            ..before
        }
    );
}

#[test]
fn the_status_counts_reserved_attached_and_free_addresses() {
    let mut sim = world();
    sim.interface("eni-far", "n3");
    sim.block("other", "203.0.113.128/25");
    sim.ip_of_block("of-another", "other");
    sim.settle();
    sim.expect_free("of-another");
    let status = status(&mut sim);
    assert_eq!(status.subnet_cidrs, ["203.0.113.0/24"]);
    let counted = (
        status.capacity,
        status.reserved,
        status.attached,
        status.nodes,
    );
    assert_eq!(counted, (251, 3, 1, 2), "one of another block lies in it");
    assert_eq!((status.foreign, status.free), (3, 245), "primary addresses");
    for (kind, on, reason) in [
        ("Ready", true, Reason::Ready),
        ("SharedWithCNI", false, Reason::NoneSeen),
        ("OrphanedAddress", false, Reason::NoneSeen),
        ("BrakeEngaged", false, Reason::NoneSeen),
    ] {
        let condition = &status.conditions[kind];
        assert_eq!((condition.status, condition.reason), (on, reason), "{kind}");
        assert!(!condition.message.is_empty(), "{kind}");
        assert_eq!(condition.generation, 1, "{kind}");
    }
    assert_eq!(look(&mut sim).1, [], "nothing of it is an Event");
}

#[test]
fn a_block_waits_for_its_subnet_and_is_compared_with_it() {
    let mut sim = world();
    let subnet = |sim: &mut Sim, cidr: &str| {
        let cidrs = vec![cidr.parse().unwrap()];
        let fact = Fact::SubnetRead(SubnetId::from(SUBNET), Subnet::untagged(cidrs));
        let now = sim.now;
        sim.controllers[0].facts_mut().apply(fact, now, now);
        let ready = condition(sim, "Ready");
        (ready.status, ready.reason, look(sim).1)
    };
    // The block is inside of its subnet, or the subnet inside of the block.
    for cidr in ["203.0.112.0/20", "203.0.113.128/25"] {
        assert_eq!(
            subnet(&mut sim, cidr),
            (true, Reason::Ready, vec![]),
            "{cidr}"
        );
    }
    let (status, reason, notices) = subnet(&mut sim, "198.51.100.0/24");
    assert_eq!((status, reason), (false, Reason::SubnetMismatch));
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(notices[0].reason, Reason::SubnetMismatch);
    assert!(
        notices[0].message.contains("correct spec.cidr"),
        "{notices:?}"
    );
}

/// The conditions that depend on inventories.
fn found(sim: &mut Sim) -> [Condition; 2] {
    let status = next_status(sim).0;
    ["OrphanedAddress", "SharedWithCNI"].map(|kind| status.conditions[kind].clone())
}

/// An address belongs to no IP, and the CNI may hand out addresses of a node.
fn with_both_found() -> Sim {
    let mut sim = world();
    sim.found_on("203.0.113.77", Some("eni-n2"));
    sim.ec2.interface_mut(&interface_of("n1")).tags.clear();
    sim.wait(INTERVAL * 2);
    settle_block(&mut sim);
    let both = found(&mut sim);
    assert!(both.iter().all(|condition| condition.status), "{both:?}");
    sim
}

#[test]
fn a_new_process_keeps_what_an_earlier_one_found() {
    let mut sim = with_both_found();
    let before = found(&mut sim);
    sim.restart(0);
    assert_eq!(found(&mut sim), before, "before an inventory");
    assert_eq!(look(&mut sim).1, [], "it was an Event before");
    sim.found_on("203.0.113.77", None);
    let interface = sim.ec2.interface_mut(&interface_of("n2"));
    let tags = interface.tags.clone();
    sim.ec2.interface_mut(&interface_of("n1")).tags = tags;
    next_inventory(&mut sim);
    let after_one = found(&mut sim).map(|condition| condition.status);
    assert_eq!(after_one, [true, false], "one is enough for an interface");
    sim.wait(Duration::from_secs(30));
    assert!(found(&mut sim)[0].status, "these two can be late");
    sim.wait(INTERVAL * 2);
    assert!(
        !found(&mut sim)[0].status,
        "two that began later are enough"
    );
}

#[test]
fn findings_for_an_earlier_spec_are_not_kept() {
    let mut sim = with_both_found();
    sim.change_block("block", |block| block.generation = 2);
    sim.restart(0);
    let after = found(&mut sim);
    assert!(after.iter().all(|condition| !condition.status), "{after:?}");
}

#[test]
fn a_message_of_a_block_names_five_and_counts_the_rest() {
    let mut sim = world();
    for last in 71..=75 {
        sim.found_on(&format!("203.0.113.{last}"), Some("eni-n2"));
    }
    sim.wait(INTERVAL * 2);
    let five = condition(&mut sim, "OrphanedAddress").message;
    assert!(five.contains("203.0.113.75 on eni-n2: "), "{five}");
    assert!(!five.contains("more"), "{five}");
    sim.found_on("203.0.113.76", Some("eni-n2"));
    sim.found_on("203.0.113.77", Some("eni-n2"));
    sim.wait(INTERVAL * 2);
    let seven = condition(&mut sim, "OrphanedAddress").message;
    assert!(
        seven.contains("203.0.113.75 on eni-n2 and 2 more"),
        "{seven}"
    );
    assert!(!seven.contains("203.0.113.76"), "{seven}");
}

#[test]
fn an_interface_of_the_cni_is_reported_with_its_nodes() {
    let mut sim = world();
    let interface = sim.ec2.interface_mut(&interface_of("n2"));
    interface.tags.clear();
    sim.wait(INTERVAL);
    let shared = condition(&mut sim, "SharedWithCNI");
    assert_eq!(
        (shared.status, shared.reason),
        (true, Reason::SharedWithCNI)
    );
    assert!(shared.message.contains("to pods: n2. Tag"), "{shared:?}");
    assert_eq!(look(&mut sim).1.len(), 1);
}

fn the_subnet_excludes_the_cni(sim: &mut Sim) {
    let excluded = Subnet {
        cni: CniUse::Excluded,
        ..Subnet::untagged(vec!["203.0.113.0/24".parse().unwrap()])
    };
    let now = sim.now;
    let fact = Fact::SubnetRead(SubnetId::from(SUBNET), excluded);
    sim.controllers[0].facts_mut().apply(fact, now, now);
}

#[test]
fn a_subnet_without_interfaces_of_the_cni_has_no_shared_interface() {
    let mut sim = world();
    let interface = sim.ec2.interface_mut(&interface_of("n2"));
    interface.tags.clear();
    sim.wait(INTERVAL);
    assert!(condition(&mut sim, "SharedWithCNI").status);
    the_subnet_excludes_the_cni(&mut sim);
    let shared = condition(&mut sim, "SharedWithCNI");
    assert_eq!((shared.status, shared.reason), (false, Reason::NoneSeen));
}

/// The CNI ignores the tag of the first ENI, unless the subnet excludes the CNI.
#[test]
fn the_first_interface_of_an_instance_is_shared_although_it_has_the_tag() {
    let mut sim = world();
    assert!(!condition(&mut sim, "SharedWithCNI").status);
    let interface = sim.ec2.interface_mut(&interface_of("n2"));
    interface.attachment.as_mut().unwrap().device_index = 0;
    sim.wait(INTERVAL);
    assert!(condition(&mut sim, "SharedWithCNI").status);
    the_subnet_excludes_the_cni(&mut sim);
    assert!(!condition(&mut sim, "SharedWithCNI").status);
}
