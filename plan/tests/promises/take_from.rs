//! A `take-from` that names the wrong interface is reported, once for each annotation. One that names the right interface
//! is not.
//! Rules: R4.26, R8.18.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::names::InterfaceId;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Notice, Regarding};
use mooring_world::objects::interface_of;

use crate::paced::{Paced, address, ip, node};

const MINUTES: Duration = Duration::from_mins(5);

fn interface(number: usize) -> InterfaceId {
    interface_of(&node(number))
}

fn unused(world: &Paced) -> Vec<&Notice> {
    let reported = world.notices.iter();
    reported
        .filter(|notice| notice.reason == Reason::TakeFromUnused)
        .collect()
}

/// Pod "a" on the first of three nodes has the address.
fn attached() -> Paced {
    let mut world = Paced::new(3, 1, Reassign::Refuse);
    world.pod("a", 0, 0);
    world.run(MINUTES);
    assert_eq!(world.attached(1), 1);
    world
}

/// Another owner has the address on the second node, and pod "a" on the first one waits for it.
fn in_use() -> Paced {
    let mut world = Paced::new(3, 1, Reassign::Refuse);
    world.run(MINUTES);
    world.cloud.put_manually(address(0), Some(&interface(1)));
    world.pod("a", 0, 0);
    world.run(MINUTES);
    assert_eq!(world.attached(1), 0);
    world
}

/// As [`attached`]; then a person moved the address to the second node, and one inventory has shown it there.
fn moved_by_hand() -> Paced {
    let mut world = attached();
    world.cloud.put_manually(address(0), Some(&interface(1)));
    let looks = world.inventories.len();
    while world.inventories.len() == looks {
        world.run(Duration::from_millis(1));
    }
    world.run(world.takes.1);
    world
}

fn is_annotated(world: &Paced) -> bool {
    world.kube.ips[&ip(0)].take_from.is_some()
}

#[test]
fn an_interface_without_the_address_is_reported_with_the_place_of_the_address() {
    let mut world = attached();
    world.take_from(0, &interface(1));
    world.run(MINUTES);
    assert!(!is_annotated(&world));
    let reported = unused(&world);
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(matches!(&reported[0].on, Regarding::Ip(name, _) if *name == ip(0)));
    let message = &reported[0].message;
    assert!(message.contains(&format!("{} is not on eni-n01", address(0))));
    assert!(message.contains("it is on eni-n00, where Mooring put it"));
    // The same mistake again counts as a new annotation.
    world.take_from(0, &interface(1));
    world.run(MINUTES);
    assert_eq!(unused(&world).len(), 2);
}

#[test]
fn an_address_on_no_interface_is_reported_as_such() {
    let mut world = Paced::new(2, 1, Reassign::Refuse);
    world.run(MINUTES);
    world.take_from(0, &interface(1));
    world.run(MINUTES);
    assert!(!is_annotated(&world));
    let reported = unused(&world);
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(reported[0].message.contains("it is on no interface"));
}

#[test]
fn while_another_interface_has_the_address_the_annotation_stays_and_that_one_is_reported() {
    let mut world = in_use();
    world.take_from(0, &interface(2));
    world.run(MINUTES);
    assert!(is_annotated(&world));
    assert!(unused(&world).is_empty());
    let conditions = &world.kube.ips[&ip(0)].status.conditions;
    let attached = conditions.attached.as_ref().unwrap();
    assert_eq!(attached.reason, Reason::AddressInUse);
    assert!(attached.message.contains("eni-n01"), "{attached:?}");
}

#[test]
fn an_annotation_that_was_used_is_not_reported() {
    let mut world = in_use();
    world.take_from(0, &interface(1));
    world.run(MINUTES);
    assert_eq!(world.attached(1), 1);
    assert!(!is_annotated(&world));
    assert!(unused(&world).is_empty(), "{:?}", unused(&world));
}

#[test]
fn an_annotation_that_was_used_is_not_reported_by_the_next_process() {
    let mut world = in_use();
    world.take_from(0, &interface(1));
    while world.attached(1) == 0 {
        world.run(Duration::from_millis(1));
    }
    assert!(is_annotated(&world), "it is removed after the Record");
    // By then it is proven that the address is not on the ENI any more.
    world.now = world.now.plus(Duration::from_hours(1));
    world.begins();
    world.run(MINUTES);
    assert!(!is_annotated(&world));
    assert!(unused(&world).is_empty(), "{:?}", unused(&world));
}

#[test]
fn the_report_is_about_the_removed_annotation() {
    let mut world = attached();
    world.take_from(0, &interface(1));
    world.run(Duration::from_millis(1));
    // The removal is in flight, and fails: the IP has changed.
    world.take_from(0, &interface(2));
    world.run(MINUTES);
    assert!(!is_annotated(&world));
    let reported = unused(&world);
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(
        reported[0].message.contains("is not on eni-n02"),
        "{reported:?}"
    );
}

#[test]
fn a_place_that_the_address_has_left_is_no_use_of_another_interface() {
    let mut world = attached();
    world.ends("a");
    world.pod("b", 0, 1);
    while world.attached(1) == 0 || world.places(1) != [Some(interface(1))] {
        world.run(Duration::from_millis(1));
    }
    assert!(!world.kube.ips[&ip(0)].status.previous.is_empty());
    world.take_from(0, &interface(2));
    world.run(MINUTES);
    assert!(!is_annotated(&world));
    assert_eq!(unused(&world).len(), 1);
}

#[test]
fn before_the_first_look_nothing_is_reported_about_where_the_address_is() {
    let mut world = attached();
    world.takes.1 = Duration::from_hours(1);
    world.kube.change_ip(&ip(0), None, |ip| {
        ip.take_from = Some(interface(1));
    });
    world.begins();
    world.run(Duration::from_secs(10));
    assert!(!is_annotated(&world));
    let reported = unused(&world);
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(!reported[0].message.contains("it is on"), "{reported:?}");
}

#[test]
fn an_annotation_that_names_the_place_that_one_inventory_shows_stays_and_is_used() {
    let mut world = moved_by_hand();
    world.take_from(0, &interface(1));
    world.run(Duration::from_secs(130));
    assert_eq!(unused(&world), Vec::<&Notice>::new());
    assert!(!is_annotated(&world));
    assert_eq!(world.attached(1), 1);
}

#[test]
fn an_address_that_was_just_moved_by_hand_is_reported_with_the_way_to_take_it() {
    let mut world = moved_by_hand();
    world.take_from(0, &interface(2));
    world.run(Duration::from_millis(500));
    let reported = unused(&world);
    assert_eq!(reported.len(), 1, "{reported:?}");
    let message = &reported[0].message;
    assert!(
        message.contains("if Mooring may take it from there, name eni-n01"),
        "{message}"
    );
}

/// The IP asks for another address, and names the interface that has it.
fn edited_with_take_from(world: &mut Paced) {
    world.kube.change_ip(&ip(0), None, |ip| {
        let mut desired = ip.desired.clone().unwrap();
        desired.address = Some(address(5));
        ip.desired = Ok(desired);
        ip.generation += 1;
        ip.take_from = Some(interface(1));
    });
    world.watches_show();
    world.run(MINUTES);
}

#[test]
fn an_annotation_for_the_address_of_an_edit_stays_until_the_edit_has_used_it() {
    let mut world = attached();
    world.cloud.put_manually(address(5), Some(&interface(1)));
    world.run(MINUTES);
    edited_with_take_from(&mut world);
    assert_eq!(world.cloud.holder_of(address(5)), Some(interface(0)));
    assert_eq!(unused(&world), Vec::<&Notice>::new());
    assert!(!is_annotated(&world));
}

#[test]
fn an_annotation_for_the_address_of_an_edit_without_a_pod_stays() {
    let mut world = Paced::new(2, 1, Reassign::Refuse);
    world.run(MINUTES);
    let other = mooring_world::objects::reservation_of_others("other", address(5), None);
    world.kube.bump();
    world.kube.reservations.insert(address(5), other);
    world.cloud.put_manually(address(5), Some(&interface(1)));
    edited_with_take_from(&mut world);
    assert_eq!(unused(&world), Vec::<&Notice>::new());
    assert!(is_annotated(&world));
}
