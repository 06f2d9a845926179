//! Many IPs that ask for any address of a block get one each without a race among themselves, and no address is kept
//! for one that does not get it.
//! Rules: R2.13, R2.14.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::block::BlockRange;
use mooring_plan::cloud::Reassign;
use mooring_plan::facts::{Affected, Fact, WriteOutcome};
use mooring_plan::names::IpName;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Read, Step, Write};
use mooring_world::objects::reservation_of_others;

use crate::paced::{Paced, ip};
use crate::programmed::ready;
use crate::sim::{Sim, address, address_after};

const MANY: usize = 1_000;
const ONLY: &str = "203.0.113.10";

/// The addresses in the status of the IPs.
fn given(world: &Paced) -> BTreeSet<Address> {
    let ips = world.kube.ips.values();
    ips.filter_map(|ip| ip.status.address).collect()
}

/// The first addresses of the block that AWS does not reserve.
fn lowest(count: usize) -> BTreeSet<Address> {
    let all = (0..).map(|number| address_after("203.0.112.4", number));
    all.take(count).collect()
}

fn refused(world: &Paced) -> usize {
    let writes = world.written.iter();
    let refused = writes.filter(|(.., outcome)| *outcome == WriteOutcome::AlreadyExists);
    refused.count()
}

#[test]
fn a_thousand_ips_of_a_block_are_reserved_with_three_writes_each() {
    let mut world = Paced::new(0, 0, Reassign::Refuse);
    world.ips_of_block(0..MANY);
    world.run(Duration::from_secs(10));
    assert_eq!(given(&world), lowest(MANY));
    assert_eq!(refused(&world), 0);
    let mut writes: BTreeMap<&IpName, usize> = BTreeMap::new();
    for (ip, ..) in &world.written {
        *writes.entry(ip).or_default() += 1;
    }
    assert!(writes.values().all(|writes| *writes == 3), "{writes:?}");
}

#[test]
fn an_address_that_a_stranger_reserves_at_the_same_time_is_passed_over() {
    let mut world = Paced::new(0, 0, Reassign::Refuse);
    world.create_takes = Duration::from_millis(100);
    world.ips_of_block(0..3);
    world.run(Duration::from_millis(50));
    let [first, second] = ["203.0.112.4", "203.0.112.5"].map(address);
    // The watch of the controller does not show it.
    let theirs = reservation_of_others("theirs", second, None);
    world.kube.reservations.insert(second, theirs);
    world.kube.bump();
    world.run(Duration::from_secs(10));
    let mut expected = lowest(4);
    expected.remove(&second);
    assert_eq!(given(&world), expected);
    assert!(given(&world).contains(&first));
    assert_eq!(refused(&world), 1);
}

#[test]
fn two_leaders_that_choose_the_same_address_give_two_ips_an_address_each() {
    let mut sim = Sim::new();
    sim.second_controller();
    for name in ["a", "b"] {
        sim.ip_of_block(name, "block");
    }
    let reserves = |sim: &mut Sim, who: usize, name: &str| {
        let name = IpName::from(name);
        loop {
            sim.deliver(who);
            sim.block_steps(who);
            let facts = sim.controllers[who].facts();
            let step = facts.decide(&name, sim.now).step.unwrap();
            if matches!(step, Step::Write(Write::Reserve { .. })) {
                return step;
            }
            sim.carry_out(who, &name, &step);
        }
    };
    let steps = [reserves(&mut sim, 0, "a"), reserves(&mut sim, 1, "b")];
    for (who, name) in ["a", "b"].into_iter().enumerate() {
        sim.carry_out(who, &IpName::from(name), &steps[who]);
    }
    sim.settle();
    let addresses = ["a", "b"].map(|name| sim.the_ip(name).status.address);
    let lowest = ["203.0.113.4", "203.0.113.5"].map(|text| Some(address(text)));
    assert_eq!(addresses, lowest, "{}", sim.story());
}

#[test]
fn the_address_of_a_create_that_failed_goes_to_an_ip_that_waits() {
    let outcomes: [fn(&Write) -> Option<WriteOutcome>; 3] = [
        |write| of_first(write).then(|| WriteOutcome::Refused("no".to_owned())),
        |write| of_first(write).then_some(WriteOutcome::Conflict),
        |write| of_first(write).then_some(WriteOutcome::Unknown),
    ];
    for refuses in outcomes {
        let mut world = Paced::new(0, 0, Reassign::Refuse);
        world.change_blocks(|spec| {
            spec.range = BlockRange::parse("203.0.112.4/32", []).unwrap();
        });
        world.refuses = refuses;
        // The other IP has reported by then that the block is exhausted, and waits.
        world.create_takes = Duration::from_millis(500);
        world.ips_of_block(0..2);
        world.run(Duration::from_secs(2));
        assert_eq!(world.kube.ips[&ip(0)].status.address, None);
        let given = world.kube.ips[&ip(1)].status.address;
        assert_eq!(given, lowest(1).first().copied(), "{:?}", world.written);
    }
}

fn of_first(write: &Write) -> bool {
    matches!(write, Write::Reserve { ip: of, .. } if *of == ip(0))
}

/// True if the next step of this IP reserves the only address of the block.
fn reserves(sim: &Sim, name: &str) -> bool {
    let facts = sim.controllers[0].facts();
    let step = facts.decide(&IpName::from(name), sim.now).step;
    matches!(step, Some(Step::Write(Write::Reserve { address: at, .. })) if at == address(ONLY))
}

/// The next step of "other" is to reserve the only address of the block; then "first" begins the same.
fn begun() -> Sim {
    let mut sim = Sim::new();
    sim.change_block("block", |block| {
        let spec = block.spec.as_mut().unwrap();
        spec.range = BlockRange::parse("203.0.113.10/32", []).unwrap();
    });
    sim.ip_of_block("other", "block");
    sim.step_until(|step| matches!(step, Step::Read(Read::Reservations(_))));
    sim.ip_of_block("first", "block");
    sim.deliver(0);
    assert!(reserves(&sim, "other"), "{}", sim.story());
    deliver_fact(&mut sim, Fact::ReserveBegun("first".into(), address(ONLY)));
    assert!(!reserves(&sim, "other"), "{}", sim.story());
    sim
}

fn deliver_fact(sim: &mut Sim, fact: Fact) -> bool {
    match sim.apply(fact) {
        Affected::Nothing => false,
        Affected::One(ip) => ip == "other".into(),
        Affected::Several(ips) => ips.contains(&IpName::from("other")),
        Affected::All => true,
    }
}

fn answered(sim: &Sim, outcome: WriteOutcome) -> Fact {
    let first = sim.the_ip("first");
    let write = Write::Reserve {
        ip: first.name.clone(),
        uid: first.uid.clone(),
        version: first.version,
        address: address(ONLY),
    };
    let ip = first.name.clone();
    Fact::Wrote { ip, write, outcome }
}

#[test]
fn an_address_is_free_again_for_others_when_its_create_is_over() {
    let ends: [fn(&Sim) -> Fact; 6] = [
        |sim| answered(sim, WriteOutcome::Conflict),
        |sim| answered(sim, WriteOutcome::NotFound),
        |sim| answered(sim, WriteOutcome::Refused("no".to_owned())),
        // The `IPAddress` was deleted again before the answer came.
        |sim| answered(sim, WriteOutcome::Done(None)),
        // The `IPAddress` of another owner can be deleted later.
        |sim| answered(sim, WriteOutcome::AlreadyExists),
        |sim| Fact::IpGone("first".into(), sim.the_ip("first").uid.clone()),
    ];
    for end in ends {
        let mut sim = begun();
        let end = end(&sim);
        assert!(deliver_fact(&mut sim, end.clone()), "{end:?}");
        assert!(reserves(&sim, "other"), "{end:?}");
    }
}

#[test]
fn an_address_is_free_again_for_others_after_an_edit_or_with_a_successor() {
    let mut edited = begun();
    let mut ip = edited.the_ip("first").clone();
    ip.version.0 += 1_000;
    let mut successor = ip.clone();
    successor.uid = "successor".into();
    ip.desired = Err("none".to_owned());
    assert!(deliver_fact(&mut edited, Fact::Ip(ip)));
    assert!(reserves(&edited, "other"));
    let mut replaced = begun();
    assert!(deliver_fact(&mut replaced, Fact::Ip(successor)));
    assert!(reserves(&replaced, "other"));
    // Or the next create is for another address.
    let mut elsewhere = begun();
    let next = Fact::ReserveBegun("first".into(), address("203.0.113.20"));
    assert!(deliver_fact(&mut elsewhere, next));
    assert!(reserves(&elsewhere, "other"));
}

#[test]
fn an_address_whose_create_may_have_been_executed_is_free_again_after_a_list() {
    let mut sim = begun();
    let unknown = answered(&sim, WriteOutcome::Unknown);
    deliver_fact(&mut sim, unknown);
    assert!(!reserves(&sim, "other"));
    let listed = Fact::ReservationsRead(sim.the_ip("first").uid.clone(), Vec::new());
    assert!(deliver_fact(&mut sim, listed));
    assert!(reserves(&sim, "other"));
}

#[test]
fn a_process_that_begins_to_lead_keeps_no_address_for_a_create_of_before() {
    let mut sim = Sim::new();
    sim.change_block("block", |block| {
        let spec = block.spec.as_mut().unwrap();
        spec.range = BlockRange::parse("203.0.113.10/32", []).unwrap();
    });
    sim.settle();
    deliver_fact(&mut sim, Fact::ReserveBegun("first".into(), address(ONLY)));
    sim.lead(0);
    sim.ip_of_block("other", "block");
    sim.settle();
    let given = sim.the_ip("other").status.address;
    assert_eq!(given, Some(address(ONLY)), "{}", sim.story());
}

#[test]
fn ips_whose_creates_are_refused_report_it_once() {
    for addresses in ["203.0.112.4/32", "203.0.112.4/31"] {
        let mut world = Paced::new(0, 0, Reassign::Refuse);
        world.change_blocks(|spec| {
            spec.range = BlockRange::parse(addresses, []).unwrap();
        });
        world.refuses = |write| {
            let create = matches!(write, Write::Reserve { .. });
            create.then(|| WriteOutcome::Refused("a webhook does not answer".to_owned()))
        };
        world.create_takes = Duration::from_millis(500);
        world.ips_of_block(0..3);
        world.run(Duration::from_mins(2));
        world.written.clear();
        world.run(Duration::from_mins(8));
        let statuses =
            |(_, write, _): &&(IpName, Write, WriteOutcome)| matches!(write, Write::Status { .. });
        assert_eq!(world.written.iter().filter(statuses).count(), 0);
        // Each IP asks again after its own backoff: at most 30 s.
        let asked = world.written.len();
        assert!((3 * 16..=3 * 64).contains(&asked), "{asked}");
        for number in 0..3 {
            let ready = world.kube.ips[&ip(number)].status.conditions.ready.clone();
            assert_eq!(ready.unwrap().reason, Reason::WriteRefused);
        }
    }
}

#[test]
fn an_ip_that_no_longer_asks_for_a_refused_address_gets_another_one() {
    let mut sim = Sim::new();
    sim.forbids = |write| matches!(write, Write::Reserve { address: of, .. } if *of == address("203.0.113.50"));
    sim.ip_of_block("partner", "block");
    sim.edit("partner", "203.0.113.50");
    sim.wait(Duration::from_secs(10));
    assert_eq!(ready(&sim).reason, Reason::WriteRefused);
    sim.change_spec("partner", |desired| desired.address = None);
    sim.wait(Duration::from_secs(10));
    sim.expect_free("partner");
    assert!(sim.the_ip("partner").status.address.is_some());
}

#[test]
fn a_refused_address_that_the_block_gives_no_more_is_not_asked_for() {
    let mut sim = begun();
    sim.forbids =
        |write| matches!(write, Write::Reserve { address: of, .. } if *of == address(ONLY));
    sim.wait(Duration::from_secs(10));
    sim.change_block("block", |block| {
        let spec = block.spec.as_mut().unwrap();
        spec.range = BlockRange::parse("203.0.113.20/31", []).unwrap();
    });
    sim.wait(Duration::from_mins(1));
    let given = ["first", "other"].map(|name| sim.the_ip(name).status.address);
    assert!(given.iter().all(Option::is_some), "{given:?}");
}
