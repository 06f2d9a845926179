//! Tests of the election task: its clock and its writes.

use super::{NAME, record, written};
use crate::controller::clock::Clock;
use mooring_plan::lease::{Election, Identity, Leadership, LeaseAnswer, LeaseStep, Spec, Timings};
use mooring_plan::names::ResourceVersion;
use std::cell::Cell;
use tokio::time::Duration;

thread_local! {
    static SLEPT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

#[test]
fn a_process_that_slept_past_its_lease_does_not_lead_and_begins_no_call() {
    let timings = Timings {
        duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    };
    let clock = Clock::with(|| SLEPT.get());
    let mut election = Election::new(Identity::from("a"), timings);
    let begun = clock.now();
    election.apply(LeaseAnswer::Read(None), begun, clock.now());
    let LeaseStep::Create(spec) = election.step(clock.now()) else {
        panic!("there is no lease");
    };
    let mut lease = written(&spec, None);
    lease.metadata.resource_version = Some("7".to_owned());
    let answer = LeaseAnswer::Wrote(record(&lease).unwrap());
    election.apply(answer, begun, clock.now());
    let lead = election.leadership(clock.now());
    assert!(lead.holds(clock.now()) && lead.may_call(clock.now()));
    // The engine knows only the published leadership: nothing else tells it that time has passed.
    SLEPT.set(Duration::from_secs(15));
    assert!(!lead.holds(clock.now()) && !lead.may_call(clock.now()));
    assert_eq!(election.leadership(clock.now()), Leadership::default());
}

fn spec(holder: Option<&str>, acquired: bool) -> Spec {
    Spec {
        holder: holder.map(Identity::from),
        seconds: 15,
        transitions: 3,
        acquired,
    }
}

#[test]
fn what_is_written_is_what_is_read() {
    let mut lease = written(&spec(Some("a"), true), None);
    assert_eq!(lease.metadata.name.as_deref(), Some(NAME));
    lease.metadata.resource_version = Some("7".to_owned());
    let read = record(&lease).unwrap();
    assert_eq!(read.version, ResourceVersion(7));
    assert_eq!(read.holder, Some(Identity::from("a")));
    assert_eq!(
        (read.duration, read.transitions),
        (Some(Duration::from_secs(15)), 3)
    );
}

#[test]
fn a_renewal_keeps_when_it_was_acquired_and_says_that_it_was_renewed() {
    let before = written(&spec(Some("a"), true), None);
    let mut after = written(&spec(Some("a"), false), Some(before.clone()));
    let (before, after_spec) = (before.spec.unwrap(), after.spec.clone().unwrap());
    assert_eq!(before.acquire_time, after_spec.acquire_time);
    assert!(before.renew_time <= after_spec.renew_time);
    after = written(&spec(None, false), Some(after));
    after.metadata.resource_version = Some("8".to_owned());
    assert_eq!(record(&after).unwrap().holder, None, "released");
}
