//! Which ENI of a node carries an address. A node that is away gets none.
//! Rules: R3.1, R3.5, R3.6.

use mooring_plan::reason::Reason;

use crate::sim::{Sim, interface_of};

const NO_MANAGE: &str = "node.k8s.amazonaws.com/no_manage";

/// The ENI that gets the address on a node with two ENIs, which `change` modifies.
fn chosen(change: impl FnOnce(&mut Sim)) -> Option<String> {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.interface("eni-second", "n1");
    sim.ip("partner", "203.0.113.10");
    change(&mut sim);
    sim.pod("a").on("n1");
    sim.settle();
    let claim = sim.the_ip("partner").status.claim.clone()?;
    let target = claim.target()?.place.interface.as_str().to_owned();
    Some(target)
}

#[test]
fn the_usable_interface_with_the_lower_index_is_used() {
    assert_eq!(chosen(|_| {}).as_deref(), Some("eni-n1"));
    let swapped = chosen(|sim| {
        let first = sim.ec2.interface_mut(&interface_of("n1"));
        first.attachment.as_mut().unwrap().device_index = 7;
    });
    assert_eq!(swapped.as_deref(), Some("eni-second"));
}

#[test]
fn an_interface_without_the_cni_precedes_one_of_the_cni() {
    for managed in [None, Some("false")] {
        let chosen = chosen(|sim| {
            let first = sim.ec2.interface_mut(&interface_of("n1"));
            first.tags.clear();
            let tag = managed.map(|value| (NO_MANAGE.to_owned(), value.to_owned()));
            first.tags.extend(tag);
        });
        assert_eq!(chosen.as_deref(), Some("eni-second"), "{managed:?}");
    }
}

#[test]
fn the_cni_ignores_the_tag_of_a_primary_interface() {
    let chosen = chosen(|sim| {
        let first = sim.ec2.interface_mut(&interface_of("n1"));
        first.attachment.as_mut().unwrap().device_index = 0;
    });
    assert_eq!(chosen.as_deref(), Some("eni-second"));
}

#[test]
fn only_an_interface_with_all_tags_of_the_block_is_used() {
    let chosen = chosen(|sim| {
        sim.change_block("block", |block| {
            if let Ok(spec) = &mut block.spec {
                spec.interface_tags = [("role".to_owned(), "edge".to_owned())].into();
            }
        });
        sim.ec2.interface_mut(&interface_of("n1")).tags.clear();
        let second = sim.ec2.interface_mut(&"eni-second".into());
        second.tags = [("role".to_owned(), "edge".to_owned())].into();
    });
    assert_eq!(chosen.as_deref(), Some("eni-second"));
}

#[test]
fn an_interface_of_another_subnet_or_of_aws_is_never_used() {
    let other_subnet = chosen(|sim| {
        let subnet = sim.ec2.subnet("subnet-2");
        sim.ec2.interface_mut(&interface_of("n1")).subnet = subnet;
    });
    assert_eq!(other_subnet.as_deref(), Some("eni-second"));
    let of_aws = chosen(|sim| {
        sim.ec2.shows = |interface| {
            interface.requester_managed = true;
            true
        };
    });
    assert_eq!(of_aws, None);
    let on_its_way = chosen(|sim| {
        sim.ec2.shows = |interface| {
            interface.attached = false;
            true
        };
    });
    assert_eq!(on_its_way, None);
}

#[test]
fn a_node_that_is_away_gets_no_address() {
    let away: [fn(&mut mooring_plan::objects::Node); 3] = [
        |node| node.ready = false,
        |node| node.unreachable = true,
        |node| node.out_of_service = true,
    ];
    for change in away {
        let mut sim = Sim::new();
        sim.node("n1");
        sim.change_node("n1", change);
        sim.ip("partner", "203.0.113.10");
        sim.pod("a").on("n1");
        sim.settle();
        sim.expect_free("partner");
        sim.expect_event("a", Reason::NoEligibleNode);
    }
}
