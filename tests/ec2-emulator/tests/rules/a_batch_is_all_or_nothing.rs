use ec2_emulator::state::instance_type::InstanceType;

use crate::world::{ips, world};

const INVALID: &str = "InvalidParameterValue";

#[test]
fn one_bad_address_fails_the_whole_batch_and_changes_nothing() {
    let mut world = world();
    let (_, mine) = world.instance(InstanceType::M5Large);
    let other = world.loose();
    world.assign(other, &["203.0.113.60"]).unwrap();
    let primary = world.ec2.interface(other).unwrap().primary.to_string();

    for (bad, code) in [
        ("203.0.113.60", INVALID),
        (primary.as_str(), INVALID),
        ("203.0.114.9", INVALID),
        ("203.0.113.255", INVALID),
    ] {
        let before = world.ec2.clone();
        let refused = world.assign(mine, &["203.0.113.50", bad, "203.0.113.51"]);
        assert_eq!(refused.unwrap_err().code.as_str(), code, "{bad}");
        assert_eq!(world.ec2, before, "{bad}");
    }
}

#[test]
fn a_batch_that_would_exceed_the_limit_takes_nothing_from_its_holders() {
    let mut world = world();
    let (_, small) = world.instance(InstanceType::T3Micro);
    let other = world.loose();
    world
        .assign(other, &["203.0.113.60", "203.0.113.61"])
        .unwrap();
    let before = world.ec2.clone();
    world
        .reassign(small, &["203.0.113.60", "203.0.113.61"])
        .unwrap_err();
    assert_eq!(world.ec2, before);
}

#[test]
fn an_unassign_with_one_address_elsewhere_removes_none() {
    let mut world = world();
    let mine = world.loose();
    world.assign(mine, &["203.0.113.50"]).unwrap();
    world
        .unassign(mine, &["203.0.113.50", "203.0.113.51"])
        .unwrap_err();
    assert_eq!(world.secondary(mine), ips(&["203.0.113.50"]));
}
