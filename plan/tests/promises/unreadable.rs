//! An IP with an unreadable status gets one condition about it. Nothing else is done until a user repairs it; then
//! everything continues.

use std::time::Duration;

use mooring_plan::facts::{Affected, Fact, Kind, WriteOutcome};
use mooring_plan::names::{IpName, IpUid, ResourceVersion};
use mooring_plan::objects::{UnreadableIp, UnreadableReport};
use mooring_plan::reason::Reason;
use mooring_plan::step::{Decision, Read, Regarding, Step, Write};
use mooring_plan::time::Instant;

use crate::sim::Sim;

/// One IP that no pod asks for.
fn world() -> Sim {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.settle();
    sim.deliver(0);
    sim
}

fn partner() -> IpName {
    IpName::from("partner")
}

pub fn unreadable(uid: &IpUid, version: u64, report: UnreadableReport) -> UnreadableIp {
    UnreadableIp {
        name: partner(),
        uid: uid.clone(),
        version: ResourceVersion(version),
        problem: "status.address \"garbage\" is not an address".to_owned(),
        report,
    }
}

fn decided(sim: &Sim) -> Decision {
    sim.controllers[0].facts().decide(&partner(), sim.now)
}

/// The version and message of the report.
fn sentence(decision: &Decision) -> (ResourceVersion, String) {
    match &decision.step {
        Some(Step::Write(Write::ReportUnreadable {
            ip: name,
            version,
            message,
        })) if *name == partner() => (*version, message.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_unreadable_ip_gets_a_reason_with_a_remedy_and_nothing_else() {
    let mut sim = world();
    let uid = sim.kube.ips[&partner()].uid.clone();
    let seen = Fact::IpUnreadable(unreadable(&uid, 1_000, UnreadableReport::Nothing));
    assert_eq!(sim.apply(seen.clone()), Affected::One(partner()));
    assert_eq!(sim.apply(seen), Affected::Nothing, "reported already");
    // A pod asks for it: its address can be on any ENI.
    sim.pod("a").on("n1");
    sim.deliver(0);
    let decision = decided(&sim);
    let (version, message) = sentence(&decision);
    assert_eq!(version, ResourceVersion(1_000));
    assert!(message.contains("\"garbage\"") && message.contains("--subresource=status"));
    let notice = decision.notices.first().expect("an Event");
    assert_eq!(notice.on, Regarding::Ip(partner(), uid.clone()));
    assert_eq!(
        (notice.reason, &notice.message),
        (Reason::Invalid, &message)
    );

    // The IP after that write.
    let report = UnreadableReport::Unreadable(message);
    sim.apply(Fact::IpUnreadable(unreadable(&uid, 1_001, report)));
    assert_eq!(decided(&sim).step, None);
    assert_eq!(decided(&sim).notices.len(), 1, "the Event stays true");
    // It has become unreadable in another way.
    let report = UnreadableReport::Unreadable("something else".to_owned());
    sim.apply(Fact::IpUnreadable(unreadable(&uid, 1_002, report)));
    assert_eq!(sentence(&decided(&sim)).0, ResourceVersion(1_002));
}

#[test]
fn without_room_for_a_condition_an_event_is_written() {
    let mut sim = world();
    let uid = sim.kube.ips[&partner()].uid.clone();
    sim.apply(Fact::IpUnreadable(unreadable(
        &uid,
        1_000,
        UnreadableReport::NotWritable,
    )));
    let decision = decided(&sim);
    assert_eq!(decision.step, None);
    assert_eq!(decision.notices.len(), 1);
}

#[test]
fn a_failed_write_of_the_condition_is_repeated() {
    use mooring_plan::facts::WriteOutcome;
    let mut sim = world();
    let uid = sim.kube.ips[&partner()].uid.clone();
    sim.apply(Fact::IpUnreadable(unreadable(
        &uid,
        1_000,
        UnreadableReport::Nothing,
    )));
    let (version, message) = sentence(&decided(&sim));
    let write = Write::ReportUnreadable {
        ip: partner(),
        version,
        message,
    };
    sim.apply(Fact::Wrote {
        ip: partner(),
        write,
        outcome: WriteOutcome::Unknown,
    });
    let waits = decided(&sim);
    assert_eq!(waits.step, None);
    sim.now = waits.again.expect("a moment");
    assert_eq!(sentence(&decided(&sim)).0, version);
}

#[test]
fn a_repaired_ip_continues() {
    let mut sim = world();
    let ip = sim.kube.ips[&partner()].clone();
    sim.apply(Fact::IpUnreadable(unreadable(
        &ip.uid,
        1_000,
        UnreadableReport::Nothing,
    )));
    // An answer that is older than the change that made it unreadable is ignored.
    let older = Fact::Ip(mooring_plan::objects::Ip {
        version: ResourceVersion(999),
        ..ip.clone()
    });
    assert_eq!(sim.apply(older), Affected::Nothing);
    sentence(&decided(&sim));
    let repaired = mooring_plan::objects::Ip {
        version: ResourceVersion(1_001),
        ..ip.clone()
    };
    assert_eq!(sim.apply(Fact::Ip(repaired)), Affected::One(partner()));
    assert!(!matches!(
        decided(&sim).step,
        Some(Step::Write(Write::ReportUnreadable { .. }))
    ));
    // A lagging watch shows the earlier state.
    let late = unreadable(&ip.uid, 1_000, UnreadableReport::Nothing);
    assert_eq!(sim.apply(Fact::IpUnreadable(late)), Affected::Nothing);
}

#[test]
fn an_unreadable_ip_does_not_hide_its_successor_in_any_order() {
    let mut sim = world();
    let ip = sim.kube.ips[&partner()].clone();
    let unreadable = || Fact::IpUnreadable(unreadable(&ip.uid, 1_000, UnreadableReport::Nothing));
    sim.apply(unreadable());
    // The deletion of the unreadable IP was not shown.
    let successor = mooring_plan::objects::Ip {
        uid: IpUid::from("u-successor"),
        version: ResourceVersion(1_001),
        ..ip.clone()
    };
    for fact in [Fact::Ip(successor), unreadable()] {
        sim.apply(fact);
        let step = decided(&sim).step;
        assert!(
            !matches!(
                step,
                Some(Step::Write(Write::ReportUnreadable { .. })) | None
            ),
            "{step:?}"
        );
    }
}

#[test]
fn an_unreadable_ip_does_not_hide_a_successor_that_is_unreadable_too() {
    let mut sim = world();
    let uid = sim.kube.ips[&partner()].uid.clone();
    let successor = IpUid::from("u-successor");
    for (uid, version) in [(&successor, 1_001), (&uid, 1_000)] {
        let seen = unreadable(uid, version, UnreadableReport::Nothing);
        sim.apply(Fact::IpUnreadable(seen));
        assert_eq!(sentence(&decided(&sim)).0, ResourceVersion(1_001));
    }
}

#[test]
fn a_repaired_ip_of_a_restored_api_server_has_a_lower_version() {
    let mut sim = world();
    let ip = sim.kube.ips[&partner()].clone();
    let broken = unreadable(&ip.uid, 1_000, UnreadableReport::Nothing);
    sim.apply(Fact::IpUnreadable(broken));
    let restored = Fact::Ip(mooring_plan::objects::Ip {
        version: ResourceVersion(2),
        ..ip
    });
    assert_eq!(sim.apply(restored.clone()), Affected::Nothing);
    assert_eq!(sim.apply(Fact::Restored(Kind::Ip)), Affected::All);
    assert_eq!(sim.apply(restored), Affected::One(partner()));
}

#[test]
fn an_ip_that_was_never_readable_is_known_until_its_deletion() {
    let mut sim = world();
    let never = UnreadableIp {
        name: IpName::from("never"),
        ..unreadable(&IpUid::from("u-never"), 1_000, UnreadableReport::Nothing)
    };
    sim.apply(Fact::IpUnreadable(never.clone()));
    let facts = sim.controllers[0].facts();
    let names: Vec<&IpName> = facts.ip_names().collect();
    assert_eq!(names, [&partner(), &never.name]);
    assert!(facts.knows(&never.name) && facts.knows(&partner()));
    let now = sim.now;
    assert!(facts.decide(&never.name, now).step.is_some());
    // The deletion of an earlier IP of this name does not count for it.
    sim.apply(Fact::IpGone(never.name.clone(), IpUid::from("u-before")));
    assert!(sim.controllers[0].facts().knows(&never.name));
    sim.apply(Fact::IpGone(never.name.clone(), never.uid));
    assert!(!sim.controllers[0].facts().knows(&never.name));
    assert_eq!(
        sim.controllers[0]
            .facts()
            .decide(&never.name, Instant::START),
        Decision::default()
    );
}

/// A new process has never seen a status of "partner" that can be read: a read of it fails.
#[test]
fn an_edit_to_the_address_of_an_ip_that_was_never_readable_is_refused() {
    let mut sim = Sim::attached(&["n1"]);
    sim.ip("other", "203.0.113.20");
    sim.settle();
    let ip = sim.the_ip("partner").clone();
    let fact = Fact::IpUnreadable(unreadable(&ip.uid, 1_000, UnreadableReport::NotWritable));
    sim.apply(Fact::IpGone(partner(), ip.uid));
    sim.apply(fact);
    sim.taken.clear();
    sim.edit("other", "203.0.113.10");
    sim.wait(Duration::from_secs(5));
    sim.expect_not_reserved("other", Reason::AddressInUse);
    let reads = |step: &Step| matches!(step, Step::Read(Read::Ip(name)) if *name == partner());
    let read = sim.taken.iter().any(|(.., step)| reads(step));
    assert!(!read, "{}", sim.story());
}

#[test]
fn a_report_that_is_refused_is_reported_and_waits_before_it_is_repeated() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.settle();
    let uid = IpUid::from("never-readable");
    let fact = Fact::IpUnreadable(unreadable(&uid, 1_000, UnreadableReport::Nothing));
    sim.apply(fact);
    let Some(Step::Write(write)) = decided(&sim).step else {
        panic!("no report\n{}", sim.story());
    };
    let refused = Fact::Wrote {
        ip: partner(),
        write,
        outcome: WriteOutcome::Refused("denied by a policy".to_owned()),
    };
    sim.apply(refused);
    let decision = decided(&sim);
    assert_eq!(decision.step, None, "{}", sim.story());
    assert!(decision.again.is_some_and(|again| again > sim.now));
    let mut notices = decision.notices.iter();
    let notice = notices.find(|notice| notice.reason == Reason::WriteRefused);
    let notice = notice.expect("an Event");
    assert_eq!(notice.on, Regarding::Ip(partner(), uid));
    let words = ["write the status of IP partner", "denied by a policy"];
    assert!(words.iter().all(|words| notice.message.contains(words)));
}
