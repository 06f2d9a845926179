//! The engine without pacing, for a model checker that chooses the times itself.

use mooring_plan::cloud::Reassign;
use mooring_plan::engine::{Effect, Engine, Event, Pacing, Reconciled};
use mooring_plan::facts::{Fact, Kind, Settings};
use mooring_plan::lease::Leadership;
use mooring_plan::names::{BlockName, IpName};
use mooring_plan::step::{CallGroup, StatusWrite};
use mooring_plan::time::Instant;
use mooring_world::objects;

use crate::sim::{INTERVAL, Sim, interface_of, status_write};

/// An engine with one block and one IP.
fn engine() -> Engine {
    let settings = Settings {
        inventory_interval: INTERVAL,
    };
    let mut engine = Engine::new(settings, Pacing::Off);
    let mut sim = Sim::new();
    sim.ip("a", "203.0.113.10");
    let mut facts = vec![
        Fact::Block(objects::block("block", "203.0.113.0/24")),
        Fact::Ip(sim.the_ip("a").clone()),
    ];
    facts.extend(Kind::ALL.map(Fact::Synced));
    for fact in facts {
        engine.handle(Event::Fact(fact), Instant::START);
    }
    engine
}

fn lead(engine: &mut Engine, at: Instant) {
    engine.handle(Event::Leadership(Leadership::ALWAYS), at);
}

#[test]
fn a_block_has_one_round_of_steps_in_flight_and_none_without_a_leader() {
    let (mut engine, block) = (engine(), BlockName::from("block"));
    let now = Instant::from_secs(1);
    assert_eq!(engine.reconcile_block(&block, now), None);
    lead(&mut engine, now);
    let begun = engine.reconcile_block(&block, now);
    assert!(matches!(begun, Some(Effect::BlockSteps(..))), "{begun:?}");
    assert_eq!(engine.reconcile_block(&block, now), None);
}

#[test]
fn a_step_is_in_flight_from_when_it_is_begun() {
    let (mut engine, ip) = (engine(), IpName::from("a"));
    lead(&mut engine, Instant::START);
    assert!(!engine.is_in_flight(&ip));
    let begun = engine.reconcile(&ip, Instant::START);
    assert!(matches!(begun, Reconciled::Begun(_)), "{begun:?}");
    assert!(engine.is_in_flight(&ip));
}

#[test]
fn the_calls_of_a_group_are_begun_when_it_is_asked_for() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    sim.deliver(0);
    let (ip, now) = (IpName::from("partner"), sim.now);
    let engine = &mut sim.controllers[0].engine;
    let on = interface_of("n1");
    engine.begin_together(&CallGroup::Unassign(on.clone()), now);
    assert!(!engine.is_in_flight(&ip), "it waits for another group");
    engine.begin_together(&CallGroup::Assign(on, Reassign::Refuse), now);
    assert!(engine.is_in_flight(&ip));
}

#[test]
fn when_a_step_was_begun_is_forgotten_but_whether_this_process_led_then() {
    let (early, late) = (Instant::from_secs(1), Instant::from_secs(2));
    let ip = IpName::from("a");
    let begun = |at: Instant, forget: bool| {
        let mut engine = engine();
        lead(&mut engine, early);
        assert!(matches!(engine.reconcile(&ip, at), Reconciled::Begun(_)));
        if forget {
            engine.forget_when_steps_began(Instant::from_secs(3));
        }
        engine
    };
    assert_ne!(begun(early, false), begun(late, false));
    assert_eq!(begun(early, true), begun(late, true));
    assert_eq!(begun(early, true), begun(Instant::from_secs(3), false));
}

#[test]
fn the_moment_of_each_inventory_in_flight_is_shown_and_can_be_moved() {
    let mut engine = engine();
    lead(&mut engine, Instant::START);
    let now = Instant::from_secs(1);
    assert_eq!(engine.reconcile_inventories(now).len(), 1);
    let mut moments = Vec::new();
    engine.each_inventory_timestamp(&mut |moment| moments.push(*moment));
    assert_eq!(moments, [now]);
}
