//! A process that begins to lead reads all IPs in one list, and reads alone only those that the list does not have.
//! Rules: R6.9, R6.11.

use std::time::Duration;

use mooring_plan::engine::{Effect, Event};
use mooring_plan::facts::Fact;
use mooring_plan::lease::Leadership;
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::Ip;
use mooring_plan::step::Read;

use crate::engine::{Driven, name};

/// The number of lists that begin now, and the IPs that are read alone.
fn begun(driven: &mut Driven) -> (usize, Vec<IpName>) {
    let (mut lists, mut read) = (0, Vec::new());
    for effect in driven.effects() {
        match effect {
            Effect::ListIps => lists += 1,
            Effect::Read(ip, Read::Ip(of)) if ip == of => read.push(ip),
            _ => {}
        }
    }
    (lists, read)
}

fn ips(driven: &Driven) -> Vec<Ip> {
    let facts = driven.engine.facts();
    let names: Vec<_> = facts.ip_names().cloned().collect();
    names
        .iter()
        .map(|name| facts.ip(name).unwrap().clone())
        .collect()
}

fn waiting(ips: usize) -> Driven {
    let mut driven = Driven::knowing(ips);
    driven.synced();
    driven.lead(Leadership::ALWAYS);
    driven
}

fn later(driven: &mut Driven) {
    driven.now = driven.now.plus(Duration::from_secs(1));
}

#[test]
fn many_ips_are_read_in_one_list() {
    let mut driven = waiting(200);
    assert_eq!(begun(&mut driven), (1, Vec::new()));
    later(&mut driven);
    assert_eq!(begun(&mut driven), (0, Vec::new()), "the list is awaited");
    let shown = ips(&driven);
    driven.listed(shown);
    assert_eq!(begun(&mut driven), (0, Vec::new()));
}

#[test]
fn ips_missing_in_the_list_are_read() {
    let mut driven = waiting(3);
    begun(&mut driven);
    let mut shown = ips(&driven);
    shown.remove(1);
    driven.listed(shown);
    assert_eq!(begun(&mut driven), (0, vec![name(1)]));
}

#[test]
fn a_failed_list_delays_nothing() {
    let mut driven = waiting(2);
    begun(&mut driven);
    driven.listed(Vec::new());
    assert_eq!(begun(&mut driven), (0, vec![name(0), name(1)]));
}

#[test]
fn the_list_is_used_and_an_older_watch_event_does_not_revert_it() {
    let mut driven = waiting(2);
    begun(&mut driven);
    let watched = ips(&driven);
    let mut shown = watched.clone();
    for ip in &mut shown {
        ip.version = ResourceVersion(ip.version.0 + 5);
        ip.generation += 1;
    }
    driven.listed(shown.clone());
    driven.fact(Fact::Ip(watched[0].clone()));
    assert_eq!(ips(&driven), shown);
}

#[test]
fn an_ip_deleted_meanwhile_is_not_restored() {
    let mut driven = waiting(2);
    begun(&mut driven);
    let shown = ips(&driven);
    driven.fact(Fact::IpGone(name(0), shown[0].uid.clone()));
    driven.listed(shown);
    assert!(!driven.engine.facts().knows(&name(0)));
}

#[test]
fn a_list_before_a_change_of_leader_is_repeated() {
    let mut driven = waiting(2);
    begun(&mut driven);
    let before = ips(&driven);
    driven.lead(Leadership::default());
    later(&mut driven);
    driven.lead(Leadership::ALWAYS);
    assert_eq!(begun(&mut driven), (0, Vec::new()), "one list at a time");
    driven.listed(before.clone());
    assert_eq!(begun(&mut driven), (1, Vec::new()));
    driven.listed(before);
    assert_eq!(begun(&mut driven), (0, Vec::new()));
}

#[test]
fn no_step_wakes_during_the_list() {
    let mut driven = waiting(2);
    begun(&mut driven);
    driven.listed(Vec::new());
    begun(&mut driven);
    // Both reads fail, so that timers are set; then the process leads again.
    driven.read_fails(&name(0));
    driven.read_fails(&name(1));
    begun(&mut driven);
    driven.lead(Leadership::default());
    driven.lead(Leadership::ALWAYS);
    assert_eq!(begun(&mut driven).0, 1);
    driven.now = driven.now.plus(Duration::from_secs(30));
    begun(&mut driven);
    let wake = driven.engine.wake_at(driven.now);
    assert!(
        wake > driven.now.plus(Duration::from_millis(20)),
        "{wake:?}"
    );
}

#[test]
fn a_list_that_ends_after_leadership_starts_nothing() {
    let mut driven = waiting(2);
    begun(&mut driven);
    let shown = ips(&driven);
    driven.lead(Leadership::default());
    driven.listed(shown);
    assert_eq!(begun(&mut driven), (0, Vec::new()));
    later(&mut driven);
    driven
        .engine
        .handle(Event::Leadership(Leadership::ALWAYS), driven.now);
    assert_eq!(begun(&mut driven).0, 1);
}
