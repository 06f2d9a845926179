//! A leader that cannot reach EC2 lets another replica lead.
//! Rule: R6.15.

use mooring_plan::lease::{LeaseAnswer, LeaseStep, Spec};
use mooring_plan::time::Instant;

use super::{Replica, Server, run};

/// Ten minutes, in milliseconds.
const STAYS: u64 = 600_000;

/// These replicas after 20 s; the first one leads.
fn led<const N: usize>(names: [&str; N]) -> (Server, [Replica; N]) {
    let mut server = Server::default();
    let mut replicas = names.map(|name| Replica::new(name, 0));
    run(&mut replicas, &mut server, 0, 20_000);
    assert!(replicas[0].leads(20_000));
    (server, replicas)
}

fn resign(replica: &mut Replica, real: u64) -> bool {
    let now = replica.clock(real);
    replica.election.resign(now)
}

#[test]
fn a_leader_that_resigns_stops_at_once_and_the_other_leads_after_its_calls() {
    let (mut server, mut replicas) = led(["a", "b"]);
    assert!(resign(&mut replicas[0], 20_000));
    assert!(!replicas[0].leads(20_000) && !replicas[0].may_call(20_000));
    run(&mut replicas, &mut server, 20_000, 24_900);
    assert!(!replicas[1].leads(24_900), "a call can still be in flight");
    // The other one has no watch here, and polls.
    run(&mut replicas, &mut server, 24_900, 27_100);
    assert!(replicas[1].leads(27_100));
    run(&mut replicas, &mut server, 27_100, 120_000);
    assert!(replicas[1].leads(120_000), "and keeps it");
}

#[test]
fn without_another_replica_it_leads_again_soon_and_then_stays() {
    let (mut server, mut alone) = led(["a"]);
    assert!(resign(&mut alone[0], 20_000));
    // Five seconds for its calls, three periods for the others.
    let leads = 31_000;
    run(&mut alone, &mut server, 20_000, leads + 100);
    assert!(alone[0].leads(leads));
    let mut from = leads + 100;
    for vain in [leads + 100, leads + 60_000, leads + STAYS - 1] {
        run(&mut alone, &mut server, from, vain);
        assert!(!resign(&mut alone[0], vain), "at {vain}");
        assert!(alone[0].leads(vain));
        from = vain;
    }
    assert!(resign(&mut alone[0], leads + STAYS));
}

#[test]
fn a_replica_whose_lease_expired_while_it_resigned_keeps_the_next_one() {
    let (mut server, [mut first, mut second]) = led(["a", "b"]);
    assert!(resign(&mut first, 20_000));
    // It cannot reach the API server, so that the lease expires.
    run(
        std::slice::from_mut(&mut second),
        &mut server,
        20_000,
        40_000,
    );
    assert!(second.leads(40_000));
    run(
        std::slice::from_mut(&mut first),
        &mut server,
        40_000,
        80_000,
    );
    assert!(first.leads(80_000));
    assert_eq!(server.lease.unwrap().transitions, 2);
}

#[test]
fn replicas_that_all_have_no_way_to_ec2_take_turns() {
    let (mut server, mut replicas) = led(["a", "b"]);
    for turn in 0..6 {
        let (from, leader) = (20_000 + 60_000 * turn, usize::from(turn % 2 == 1));
        assert!(resign(&mut replicas[leader], from), "turn {turn}");
        run(&mut replicas, &mut server, from, from + 60_000);
    }
    assert_eq!(server.lease.unwrap().transitions, 6);
}

#[test]
fn a_replica_that_does_not_lead_has_nothing_to_resign() {
    let (mut server, mut replicas) = led(["a", "b"]);
    assert!(!resign(&mut replicas[1], 20_000));
    run(&mut replicas, &mut server, 20_000, 40_000);
    assert!(replicas[0].leads(40_000));
}

#[test]
fn a_release_whose_answer_is_lost_counts() {
    let (mut server, [mut leader]) = led(["a"]);
    let now = Instant::from_millis(20_000);
    leader.election.resign(now);
    let at = Instant::from_millis(25_000);
    assert_eq!(leader.election.step(now), LeaseStep::Wait(at));
    let release = leader.election.step(at);
    assert!(matches!(server.carry_out(&release), LeaseAnswer::Wrote(_)));
    leader.election.apply(LeaseAnswer::Failed, at, at);
    leader.turn(&mut server, 27_000);
    // It leaves the lease to others for three periods.
    let until = Instant::from_millis(33_000);
    let waits = leader.election.step(Instant::from_millis(27_000));
    assert_eq!(waits, LeaseStep::Wait(until));
    leader.turn(&mut server, 33_000);
    assert!(leader.leads(33_000));
}

fn is_release(step: &LeaseStep) -> bool {
    matches!(step, LeaseStep::Update(_, Spec { holder: None, .. }))
}

#[test]
fn a_process_that_ends_tries_the_release_three_times_without_a_wait() {
    let (mut server, [mut leader]) = led(["a"]);
    leader.election.leave();
    let now = Instant::from_millis(20_000);
    for _ in 0..3 {
        assert!(is_release(&leader.election.step(now)));
        leader.election.apply(LeaseAnswer::Conflict, now, now);
        if leader.election.step(now) == LeaseStep::Read {
            let read = server.carry_out(&LeaseStep::Read);
            leader.election.apply(read, now, now);
        }
    }
    assert_eq!(leader.election.step(now), LeaseStep::Wait(Instant::NEVER));
}

#[test]
fn a_process_that_ends_does_nothing_after_the_release_and_nothing_for_the_lease_of_another() {
    let (mut server, [mut leader, mut standby]) = led(["a", "b"]);
    for replica in [&mut standby, &mut leader] {
        replica.election.leave();
    }
    let now = Instant::from_millis(20_000);
    let nothing = LeaseStep::Wait(Instant::NEVER);
    assert_eq!(standby.election.step(now), nothing);
    assert!(is_release(&leader.election.step(now)));
    leader.turn(&mut server, 20_000);
    assert_eq!(leader.election.step(now), nothing);
}
