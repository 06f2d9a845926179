use crate::world::{ips, world};

#[test]
fn an_allowed_reassignment_takes_the_address_from_its_interface() {
    let mut world = world();
    let (a, b, c) = (world.loose(), world.loose(), world.loose());
    world.assign(a, &["203.0.113.50", "203.0.113.51"]).unwrap();
    world.assign(b, &["203.0.113.52"]).unwrap();

    world
        .reassign(c, &["203.0.113.50", "203.0.113.52", "203.0.113.53"])
        .unwrap();

    assert_eq!(world.secondary(a), ips(&["203.0.113.51"]));
    assert_eq!(world.secondary(b), ips(&[]));
    assert_eq!(
        world.secondary(c),
        ips(&["203.0.113.50", "203.0.113.52", "203.0.113.53"])
    );
}

#[test]
fn a_free_address_needs_no_permission() {
    let mut world = world();
    let (a, b) = (world.loose(), world.loose());
    world.assign(a, &["203.0.113.50"]).unwrap();
    world.unassign(a, &["203.0.113.50"]).unwrap();
    world.assign(b, &["203.0.113.50"]).unwrap();
    assert_eq!(world.secondary(b), ips(&["203.0.113.50"]));
}
