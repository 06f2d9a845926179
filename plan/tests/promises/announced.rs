//! Completed steps are reported to users as Events of the IP and of the pod.

use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::facts::CallError;
use mooring_plan::objects::{Block, DesiredIp, Ip};
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::Regarding;
use mooring_world::objects;

use crate::paced::{Paced, address, ip, no_record};

/// The objects and messages of the Events with this reason.
fn reported(world: &Paced, reason: Reason) -> Vec<(String, String)> {
    let reported = world.notices.iter();
    let reported = reported.filter(|notice| notice.reason == reason);
    let on = |on: &Regarding| match on {
        Regarding::Ip(name, _) => format!("IP {name}"),
        Regarding::Pod(key, _) => format!("pod {}", key.name),
        Regarding::Block(name, _) => format!("block {name}"),
        Regarding::Node(name, _) => format!("node {name}"),
    };
    reported
        .map(|notice| (on(&notice.on), notice.message.clone()))
        .collect()
}

fn subjects(world: &Paced, reason: Reason) -> Vec<String> {
    reported(world, reason)
        .into_iter()
        .map(|(on, _)| on)
        .collect()
}

/// The spec of the IP is edited.
fn edit(world: &mut Paced, change: impl Fn(&mut DesiredIp)) {
    world.kube.change_ip(&ip(0), None, |ip: &mut Ip| {
        ip.generation += 1;
        ip.desired.iter_mut().for_each(&change);
    });
}

#[test]
fn a_reservation_is_reported_on_the_ip_with_its_address() {
    let world = Paced::attached_once();
    let reported = reported(&world, Reason::Reserved);
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!(reported[0].0, "IP ip-0000");
    assert!(
        reported[0].1.contains(&address(0).to_string()),
        "{reported:?}"
    );
}

#[test]
fn an_attach_is_reported_on_pod_and_ip_and_the_pod_learns_which_ip() {
    let world = Paced::attached_once();
    let reported = reported(&world, Reason::Attached);
    let [(pod, of_pod), (ip, of_ip)] = &reported[..] else {
        panic!("{reported:?}");
    };
    assert_eq!((pod.as_str(), ip.as_str()), ("pod db", "IP ip-0000"));
    assert!(of_ip.contains("eni-n00"), "{reported:?}");
    assert_eq!(*of_pod, format!("IP ip-0000: {of_ip}"));
    assert_eq!(subjects(&world, Reason::Moved), [""; 0]);
}

#[test]
fn an_address_that_another_pod_takes_over_is_reported_as_moved() {
    let mut world = Paced::attached_once();
    world.notices.clear();
    world.node_fails(0);
    world.ends("db");
    world.pod("db-2", 0, 1);
    world.run(Duration::from_mins(2));
    assert_eq!(world.attached(1), 1);
    assert_eq!(subjects(&world, Reason::Moved), ["pod db-2", "IP ip-0000"]);
    assert_eq!(subjects(&world, Reason::Attached), [""; 0]);
}

#[test]
fn another_address_at_the_same_place_for_the_same_pod_is_no_move() {
    let mut world = Paced::attached_once();
    world.notices.clear();
    edit(&mut world, |desired| desired.address = Some(address(7)));
    world.run(Duration::from_mins(2));
    let attached = reported(&world, Reason::Attached);
    let on: Vec<&str> = attached.iter().map(|(on, _)| on.as_str()).collect();
    assert_eq!(on, ["pod db", "IP ip-0000"]);
    assert!(attached[1].1.contains(&address(7).to_string()));
    assert_eq!(subjects(&world, Reason::Moved), [""; 0]);
}

/// The present address is dropped from the status before one of the other block is allocated.
#[test]
fn a_change_to_another_block_is_reported_once_with_the_new_address() {
    let mut world = Paced::attached_once();
    world.is_deleted("db");
    world.ends("db");
    world.run(Duration::from_mins(5));
    world.notices.clear();
    let block = Block {
        version: world.kube.bump(),
        ..objects::block("other", "203.0.112.64/28")
    };
    world.kube.blocks.insert(block.name.clone(), block);
    edit(&mut world, |desired| {
        desired.address = None;
        desired.block = Some("other".into());
    });
    world.run(Duration::from_mins(5));
    let reserved = reported(&world, Reason::Reserved);
    assert_eq!(reserved.len(), 1, "{reserved:?}");
    let given = world.kube.ips[&ip(0)].status.address.unwrap().to_string();
    assert_ne!(given, address(0).to_string());
    assert!(reserved[0].1.contains(&given), "{reserved:?}");
}

#[test]
fn an_attach_after_a_detach_is_no_move() {
    let mut world = Paced::attached_once();
    world.is_deleted("db");
    world.ends("db");
    world.run(Duration::from_mins(5));
    world.notices.clear();
    world.pod("db", 0, 1);
    world.run(Duration::from_mins(1));
    assert_eq!(subjects(&world, Reason::Attached), ["pod db", "IP ip-0000"]);
    assert_eq!(subjects(&world, Reason::Moved), [""; 0]);
}

#[test]
fn a_detach_is_reported_on_pod_and_ip_with_address_and_pod() {
    let mut world = Paced::attached_once();
    world.notices.clear();
    world.is_deleted("db");
    world.ends("db");
    world.run(Duration::from_mins(5));
    let message = format!(
        "{} is on no interface for pod default/db any more",
        address(0)
    );
    let expected = [
        ("pod db".to_owned(), format!("IP ip-0000: {message}")),
        ("IP ip-0000".to_owned(), message),
    ];
    assert_eq!(reported(&world, Reason::Detached), expected);
}

#[test]
fn a_reservation_that_is_let_go_is_reported_with_its_address() {
    let mut world = Paced::attached_once();
    world.is_deleted("db");
    world.ends("db");
    world.run(Duration::from_mins(5));
    world
        .kube
        .change_ip(&ip(0), None, |ip: &mut Ip| ip.deleting = true);
    world.run(Duration::from_mins(5));
    assert!(world.kube.ips.is_empty(), "{:?}", world.kube.ips);
    let message = format!("{} is no longer reserved for this IP", address(0));
    let expected = [("IP ip-0000".to_owned(), message)];
    assert_eq!(reported(&world, Reason::Released), expected);
}

#[test]
fn a_write_that_is_refused_is_reported_as_nothing_done() {
    let mut world = Paced::new(1, 1, Reassign::Refuse);
    world.pod("db", 0, 0);
    world.refuses = no_record;
    world.run(Duration::from_secs(20));
    assert_eq!(world.sent.len(), 1);
    assert_eq!(subjects(&world, Reason::Attached), [""; 0]);
    world.refuses = |_| None;
    world.run(Duration::from_mins(1));
    assert_eq!(world.attached(1), 1);
    assert_eq!(subjects(&world, Reason::Attached), ["pod db", "IP ip-0000"]);
}

#[test]
fn a_reservation_of_an_ip_that_is_gone_is_not_reported_as_one_that_was_let_go() {
    let mut world = Paced::new(1, 0, Reassign::Refuse);
    let left = objects::reservation("left", address(0), &"old".into(), &"ip-of-old".into());
    world.kube.bump();
    world.kube.reservations.insert(address(0), left);
    world.ip(0);
    world.run(Duration::from_mins(1));
    assert_eq!(subjects(&world, Reason::Reserved), ["IP ip-0000"]);
    assert_eq!(reported(&world, Reason::Released), []);
}

#[test]
fn a_first_attach_that_is_refused_is_reported_as_refused_and_not_as_a_detach() {
    let mut world = Paced::new(1, 1, Reassign::Refuse);
    world.run(Duration::from_mins(1));
    world.fail.push(CallError::new(Outcome::NoRoom, "full"));
    world.pod("db", 0, 0);
    world.run(Duration::from_secs(5));
    assert!(subjects(&world, Reason::NodeFull).contains(&"IP ip-0000".to_owned()));
    assert_eq!(reported(&world, Reason::Detached), []);
    let status = &world.kube.ips[&ip(0)].status;
    assert!(status.claim.is_none() && status.refused.is_some());
}
