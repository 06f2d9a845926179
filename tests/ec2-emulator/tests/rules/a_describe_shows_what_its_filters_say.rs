use std::collections::BTreeSet;

use ec2_emulator::state::filter::{Filter, InterfaceField};
use ec2_emulator::state::id::NetworkInterfaceId;
use ec2_emulator::state::instance_type::InstanceType;
use ec2_emulator::state::request::{Read, Seen};

use crate::world::{World, world};

fn found(world: &World, filters: &[(InterfaceField, &str)]) -> Vec<NetworkInterfaceId> {
    let filters = filters.iter().map(|(field, value)| Filter {
        field: field.clone(),
        values: vec!["no-such-value".to_owned(), (*value).to_owned()],
    });
    let seen = world.ec2.read(&Read::NetworkInterfaces {
        ids: BTreeSet::new(),
        filters: filters.collect(),
    });
    match seen {
        Ok(Seen::NetworkInterfaces(found)) => found.iter().map(|one| one.id).collect(),
        other => panic!("no interfaces: {other:?}"),
    }
}

#[test]
fn each_filter_narrows_and_all_must_match() {
    let mut world = world();
    let (instance, primary) = world.instance(InstanceType::M5Large);
    let loose = world.loose();
    world.assign(primary, &["203.0.113.50"]).unwrap();
    let own = world.ec2.interface(loose).unwrap().primary.to_string();
    let instance = instance.to_string();
    let subnet = world.subnet.to_string();
    let vpc = world.vpc.to_string();
    let loose_id = loose.to_string();
    let role = InterfaceField::Tag("role".to_owned());

    assert_eq!(found(&world, &[]), [primary, loose]);
    assert_eq!(
        found(&world, &[(InterfaceField::Subnet, &subnet)]),
        [primary, loose]
    );
    assert_eq!(
        found(&world, &[(InterfaceField::Vpc, &vpc)]),
        [primary, loose]
    );
    assert_eq!(
        found(&world, &[(InterfaceField::Address, "203.0.113.50")]),
        [primary]
    );
    assert_eq!(found(&world, &[(InterfaceField::Address, &own)]), [loose]);
    assert_eq!(
        found(&world, &[(InterfaceField::Instance, &instance)]),
        [primary]
    );
    assert_eq!(
        found(&world, &[(InterfaceField::AttachmentStatus, "attached")]),
        [primary]
    );
    assert_eq!(
        found(&world, &[(InterfaceField::Status, "available")]),
        [loose]
    );
    assert_eq!(found(&world, &[(InterfaceField::Id, &loose_id)]), [loose]);
    assert_eq!(found(&world, &[(role.clone(), "test")]), [loose]);
    assert_eq!(found(&world, &[(role.clone(), "t*")]), [loose]);
    assert_eq!(found(&world, &[(InterfaceField::TagKey, "role")]), [loose]);
    assert!(
        found(
            &world,
            &[(role, "test"), (InterfaceField::Instance, &instance)]
        )
        .is_empty()
    );
}

#[test]
fn an_unknown_id_is_an_error_and_not_an_empty_answer() {
    let world = world();
    let missing = world.ec2.read(&Read::NetworkInterfaces {
        ids: BTreeSet::from([NetworkInterfaceId(77)]),
        filters: Vec::new(),
    });
    assert_eq!(
        missing.unwrap_err().code.as_str(),
        "InvalidNetworkInterfaceID.NotFound"
    );
}
