//! A restoration of the API server from a backup is noticed once, whichever answer shows it first and wherever the
//! Leases are stored.
//! Rules: R1.25, R7.5.

use std::time::Duration;

use mooring_plan::facts::{Fact, Kind, WriteOutcome};
use mooring_plan::names::ResourceVersion;
use mooring_plan::objects::Ip;
use mooring_plan::step::Write;
use mooring_plan::store_revision::{KnownVersions, Revision};

use crate::engine::{Driven, name};

/// What one process knows of the lists of one kind.
#[derive(Default)]
struct Process {
    known: KnownVersions,
    revision: Revision,
}

impl Process {
    /// A list has this version. Returns true if a restoration is noticed.
    fn list(&mut self, version: u64) -> bool {
        self.known.list_shows(ResourceVersion(version))
    }

    /// The answer to a read or a write of the `Lease` has this version.
    fn lease(&mut self, version: u64) -> bool {
        self.revision = self.revision.answered(ResourceVersion(version));
        self.known.lease_shows(self.revision)
    }

    /// A watch shows this version of the `Lease`.
    fn lease_event(&mut self, version: u64) -> bool {
        self.revision = self.revision.watched(ResourceVersion(version));
        self.known.lease_shows(self.revision)
    }
}

#[test]
fn one_store_without_a_restoration_shows_none() {
    let mut process = Process::default();
    // At the start the Lease is read before the first list is complete.
    assert!(!process.lease(200));
    for version in [150, 150, 190] {
        assert!(!process.list(version), "the list is older than the Lease");
        assert!(!process.lease(200));
    }
    assert!(!process.lease(210));
    assert!(!process.list(211));
    assert!(!process.lease(211));
}

#[test]
fn a_restoration_that_the_lease_shows_first_is_noticed_once() {
    let mut process = Process::default();
    assert!(!process.list(150));
    assert!(!process.lease(200));
    assert!(process.lease(100));
    assert!(!process.lease(100));
    assert!(!process.list(101));
    assert!(!process.lease(102));
    // A second restoration is another one.
    assert!(process.lease(90));
    assert!(!process.list(91));
}

#[test]
fn a_restoration_that_a_list_shows_first_is_noticed_once() {
    for lease in [100, 101] {
        let mut process = Process::default();
        assert!(!process.list(150));
        assert!(!process.lease(200));
        assert!(process.list(100));
        assert!(!process.list(100));
        assert!(!process.lease(lease));
        assert!(!process.list(102));
        assert!(process.list(101));
    }
}

#[test]
fn a_restoration_to_after_the_last_list_is_noticed_once_in_each_order() {
    let mut by_lease = Process::default();
    assert!(!by_lease.list(10));
    assert!(!by_lease.lease(200));
    assert!(by_lease.lease(100));
    assert!(!by_lease.list(101));
    let mut by_list = Process::default();
    assert!(!by_list.list(10));
    assert!(!by_list.lease(200));
    // This list is newer than the last one. Only the Lease shows what happened between them.
    assert!(!by_list.list(100));
    assert!(by_list.lease(101));
    assert!(!by_list.list(102));
}

#[test]
fn leases_with_higher_revisions_in_a_store_of_their_own_are_no_restoration() {
    let mut process = Process::default();
    assert!(!process.lease(1_000_000));
    for version in [100, 101, 150] {
        assert!(!process.list(version));
        assert!(!process.lease(1_000_000 + version));
    }
    assert!(process.list(120));
    assert!(!process.lease(1_000_200));
    assert!(!process.list(121));
}

#[test]
fn leases_with_lower_revisions_in_a_store_of_their_own_are_no_restoration() {
    let mut process = Process::default();
    for version in [100_000, 100_001] {
        assert!(!process.list(version));
        assert!(!process.lease(version - 99_990));
    }
    assert!(process.list(90_000));
    assert!(!process.lease(12));
    assert!(!process.list(90_001));
}

#[test]
fn a_restoration_of_the_store_of_the_leases_alone_is_noticed_once() {
    for (listed, leased, restored) in [(100, 1_000_000, 900_000), (100_000, 50, 40)] {
        let mut process = Process::default();
        assert!(!process.list(listed));
        assert!(!process.lease(leased));
        // It cannot be told apart from a restoration of the store of the kind.
        assert!(process.lease(restored));
        assert!(!process.list(listed + 1));
        assert!(!process.lease(restored + 1));
    }
}

#[test]
fn each_answer_with_a_lower_version_counts_as_one_restoration() {
    let in_answers = |versions: &[u64]| {
        let versions = versions.iter().copied().map(ResourceVersion);
        let known = versions.fold(Revision::default(), Revision::answered);
        known.restorations()
    };
    assert_eq!(in_answers(&[7, 7, 9]), 0);
    assert_eq!(in_answers(&[7, 3, 5]), 1);
    assert_eq!(in_answers(&[7, 3, 2]), 2);
}

#[test]
fn a_late_event_of_a_watch_of_the_lease_is_no_restoration() {
    let mut process = Process::default();
    assert!(!process.list(5));
    assert!(!process.lease(7));
    assert!(!process.lease_event(9));
    assert!(!process.lease_event(8));
    assert!(!process.lease(9));
    // The answer is compared with what the watch has shown, also after a late event.
    assert!(process.lease(8));
    assert!(!process.lease_event(7));
    assert!(!process.lease(8));
    assert!(!process.list(9));
}

#[test]
fn an_ip_that_a_restoration_brings_back_with_its_uid_is_read() {
    let mut driven = Driven::leading(1);
    let ip = driven.engine.facts().ip(&name(0)).cloned().unwrap();
    driven.fact(Fact::IpGone(ip.name.clone(), ip.uid.clone()));
    driven.effects();
    driven.completed(&name(0), Fact::IpRead(name(0), None));
    assert!(!driven.engine.facts().knows(&name(0)));

    driven.fact(Fact::Restored(Kind::Ip));
    driven.fact(Fact::Ip(ip.clone()));
    driven.now = driven.now.plus(Duration::from_secs(1));
    // Another client writes the IP at the same time, so it is read.
    let write = driven.write().unwrap();
    let outcome = WriteOutcome::Conflict;
    let conflict = Fact::Wrote {
        ip: name(0),
        write,
        outcome,
    };
    driven.completed(&name(0), conflict);
    assert_eq!(driven.begun(), [name(0)]);
    let version = ResourceVersion(ip.version.0 + 1);
    let newer = Ip { version, ..ip };
    driven.completed(&name(0), Fact::IpRead(name(0), Some(newer)));
    let expected = Write::AddFinalizer {
        ip: name(0),
        version,
    };
    assert_eq!(driven.write(), Some(expected));
}
