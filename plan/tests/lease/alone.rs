//! The election with a single replica.

use std::time::Duration;

use mooring_plan::lease::{Election, Identity, Leadership, LeaseAnswer, LeaseStep, Timings};
use mooring_plan::time::Instant;

use super::{Server, TIMINGS, candidate};

/// A replica that leads, with a renewal that was begun at 0.
fn leading(timings: Timings) -> (Election, Server) {
    let mut election = candidate("a", timings);
    let mut server = Server::default();
    for _ in 0..2 {
        let answer = server.carry_out(&election.step(Instant::START));
        election.apply(answer, Instant::START, Instant::START);
    }
    assert!(election.leads(Instant::START));
    (election, server)
}

#[test]
fn an_identity_survives_a_round_trip() {
    let name = Identity::new("mooring-0_uid");
    assert_eq!(name.as_str(), "mooring-0_uid");
    assert_eq!(name.to_string(), "mooring-0_uid");
}

#[test]
fn a_leader_leads_until_just_before_its_deadline() {
    let (election, _) = leading(TIMINGS);
    assert_eq!(election.leads_until(), Some(Instant::from_millis(10_000)));
    assert!(election.leads(Instant::from_millis(9_999)));
    assert!(!election.leads(Instant::from_millis(10_000)));
    let follower = candidate("b", TIMINGS);
    assert_eq!(follower.leads_until(), None);
}

#[test]
fn a_leader_may_do_what_its_lease_allows_until_the_lease_ends() {
    let (election, _) = leading(TIMINGS);
    let leadership = election.leadership(Instant::from_millis(9_999));
    assert_eq!(leadership.until, election.leads_until());
    assert_eq!(leadership.calls_until, election.calls_until());
    assert!(leadership.calls_until.is_some());
    let after = election.leadership(Instant::from_millis(10_000));
    assert_eq!(after, Leadership::default());
}

#[test]
fn a_short_lease_has_a_margin_of_a_third() {
    let calls_until = |duration, renew_deadline| {
        let timings = Timings {
            duration: Duration::from_secs(duration),
            renew_deadline: Duration::from_secs(renew_deadline),
            ..TIMINGS
        };
        leading(timings).0.calls_until()
    };
    assert_eq!(calls_until(6, 5), Some(Instant::from_millis(4_000)));
    assert_eq!(calls_until(60, 58), Some(Instant::from_millis(55_000)));
}

#[test]
fn a_failed_renewal_is_repeated_and_ends_nothing_before_the_deadline() {
    let (mut election, _) = leading(TIMINGS);
    let now = Instant::from_millis(2_000);
    election.apply(LeaseAnswer::Failed, now, now);
    assert_eq!(
        election.step(now),
        LeaseStep::Wait(Instant::from_millis(4_000))
    );
    assert!(election.leads(Instant::from_millis(9_999)));
    assert!(election.calls_until().is_some());
}

#[test]
fn a_leader_continues_only_if_the_lease_is_still_its_own() {
    let (mut election, mut server) = leading(TIMINGS);
    let now = Instant::from_millis(2_000);
    election.apply(LeaseAnswer::Conflict, now, now);
    assert_eq!(election.step(now), LeaseStep::Read);
    let mut other = election.clone();
    election.apply(server.carry_out(&LeaseStep::Read), now, now);
    assert!(election.leads(now));
    assert!(
        matches!(election.step(now), LeaseStep::Update(..)),
        "and renews"
    );
    let mut taken = server.lease.take().unwrap();
    taken.holder = Some(Identity::from("b"));
    other.apply(LeaseAnswer::Read(Some(taken)), now, now);
    assert!(!other.leads(now));
    assert_eq!(other.calls_until(), None);
}

#[test]
fn a_follower_polls_the_lease_and_takes_it_when_it_has_expired() {
    let (_, mut server) = leading(TIMINGS);
    let mut other = candidate("b", TIMINGS);
    other.apply(
        server.carry_out(&LeaseStep::Read),
        Instant::START,
        Instant::START,
    );
    assert_eq!(
        other.step(Instant::START),
        LeaseStep::Wait(Instant::from_millis(2_000))
    );
    assert_eq!(other.step(Instant::from_millis(14_999)), LeaseStep::Read);
    assert!(matches!(
        other.step(Instant::from_millis(15_000)),
        LeaseStep::Update(..)
    ));
}

#[test]
fn a_replica_that_cannot_lead_yet_leaves_the_lease_alone() {
    let late = Instant::from_secs(3600);
    let observer = |lease| {
        let mut election = Election::new(Identity::from("a"), TIMINGS);
        assert_eq!(election.step(Instant::START), LeaseStep::Read);
        election.apply(LeaseAnswer::Read(lease), Instant::START, Instant::START);
        election
    };
    let held_by = |name| {
        let mut server = Server::default();
        let mut other = candidate(name, TIMINGS);
        for _ in 0..2 {
            let answer = server.carry_out(&other.step(Instant::START));
            other.apply(answer, Instant::START, Instant::START);
        }
        server.lease
    };
    let released = || {
        let (mut leader, mut server) = leading(TIMINGS);
        leader.leave();
        server.carry_out(&leader.step(Instant::START));
        server.lease
    };
    for lease in [None, held_by("a"), held_by("b"), released()] {
        let mut election = observer(lease);
        assert_eq!(election.step(late), LeaseStep::Wait(Instant::NEVER));
        election.take_part();
        let step = election.step(late);
        assert!(
            matches!(step, LeaseStep::Create(_) | LeaseStep::Update(..)),
            "{step:?}"
        );
    }
}

#[test]
fn a_replica_that_never_could_lead_releases_the_lease_of_its_earlier_process() {
    let (_, server) = leading(TIMINGS);
    let mut restarted = Election::new(Identity::from("a"), TIMINGS);
    let answer = LeaseAnswer::Read(server.lease);
    restarted.apply(answer, Instant::START, Instant::START);
    restarted.leave();
    let LeaseStep::Update(_, spec) = restarted.step(Instant::START) else {
        panic!("it holds the lease");
    };
    assert_eq!(spec.holder, None);
}

#[test]
fn a_replica_that_was_resigning_does_not_lead_again_because_it_can() {
    let (mut leader, _) = leading(TIMINGS);
    assert!(leader.resign(Instant::START));
    leader.take_part();
    assert!(matches!(leader.step(Instant::START), LeaseStep::Wait(_)));
}
