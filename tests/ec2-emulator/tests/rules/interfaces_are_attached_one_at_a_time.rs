use ec2_emulator::state::id::AttachmentId;
use ec2_emulator::state::instance_type::InstanceType;
use ec2_emulator::state::request::{Change, Changed};

use crate::world::{ip, refused, world};

#[test]
fn an_interface_is_attached_once() {
    let mut world = world();
    let (a, _) = world.instance(InstanceType::T3Medium);
    let (b, _) = world.instance(InstanceType::T3Medium);
    let interface = world.loose();
    world.attach(interface, a, 1).unwrap();
    refused(
        world.attach(interface, b, 1),
        "InvalidNetworkInterface.InUse",
        "in use",
    );
    let other = world.loose();
    refused(
        world.attach(other, a, 1),
        "InvalidParameterValue",
        "device index '1'",
    );
    world.attach(other, a, 2).unwrap();
    let third = world.loose();
    refused(
        world.attach(third, a, 3),
        "AttachmentLimitExceeded",
        "t3.medium",
    );
}

#[test]
fn a_detached_interface_keeps_its_addresses_until_it_is_deleted() {
    let mut world = world();
    let (instance, primary) = world.instance(InstanceType::T3Medium);
    let interface = world.loose();
    let Ok(Changed::Attached(attachment)) = world.attach(interface, instance, 1) else {
        panic!("not attached");
    };
    world.assign(interface, &["203.0.113.50"]).unwrap();
    let delete = Change::DeleteNetworkInterface { interface };
    refused(
        world.ec2.change(delete.clone()),
        "InvalidParameterValue",
        "currently in use",
    );
    let detach = Change::DetachNetworkInterface { attachment };
    world.ec2.change(detach.clone()).unwrap();
    refused(
        world.ec2.change(detach),
        "InvalidAttachmentID.NotFound",
        "does not exist",
    );
    assert!(
        world
            .ec2
            .interface(interface)
            .unwrap()
            .has(ip("203.0.113.50"))
    );
    world.ec2.change(delete).unwrap();
    assert!(world.ec2.interface(interface).is_err());

    let tie = world.ec2.interface(primary).unwrap().attachment.unwrap();
    let detach = Change::DetachNetworkInterface { attachment: tie.id };
    refused(
        world.ec2.change(detach),
        "OperationNotPermitted",
        "device index 0",
    );
}

#[test]
fn a_second_attach_is_another_attachment() {
    let mut world = world();
    let (instance, _) = world.instance(InstanceType::T3Medium);
    let interface = world.loose();
    let mut names: Vec<AttachmentId> = Vec::new();
    for _ in 0..2 {
        let Ok(Changed::Attached(attachment)) = world.attach(interface, instance, 1) else {
            panic!("not attached");
        };
        world
            .ec2
            .change(Change::DetachNetworkInterface { attachment })
            .unwrap();
        names.push(attachment);
    }
    assert_ne!(names[0], names[1]);
}

#[test]
fn an_instance_accepts_only_interfaces_of_its_zone() {
    let mut world = world();
    let (instance, _) = world.instance(InstanceType::T3Medium);
    let elsewhere = world.new_subnet("203.0.114.0/24", "eu-north-1b");
    let interface = world.loose_in(elsewhere, None).unwrap().id;
    refused(
        world.attach(interface, instance, 1),
        "InvalidParameterCombination",
        "availability zone",
    );
}

#[test]
fn a_new_interface_gets_only_a_free_address() {
    let mut world = world();
    let a = world.loose();
    world.assign(a, &["203.0.113.50"]).unwrap();
    for (address, code) in [
        ("203.0.113.50", "InvalidIPAddress.InUse"),
        ("203.0.113.3", "InvalidParameterValue"),
        ("203.0.115.50", "InvalidParameterValue"),
    ] {
        let refused = world.loose_in(world.subnet, Some(ip(address))).unwrap_err();
        assert_eq!(refused.code.as_str(), code, "{address}");
    }
    let chosen = world
        .loose_in(world.subnet, Some(ip("203.0.113.77")))
        .unwrap();
    assert_eq!(chosen.primary, ip("203.0.113.77"));
}

#[test]
fn a_full_subnet_gives_no_address() {
    let mut world = world();
    let tiny = world.new_subnet("203.0.114.0/28", "eu-north-1a");
    // 16 addresses without the first four and the last one.
    for _ in 0..11 {
        world.loose_in(tiny, None).unwrap();
    }
    let full = world.loose_in(tiny, None).unwrap_err();
    assert_eq!(full.code.as_str(), "InsufficientFreeAddressesInSubnet");
}
