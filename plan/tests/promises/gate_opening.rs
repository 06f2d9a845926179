//! When the gate of a pod becomes `True`, and how a refusal of EC2 is quoted.
//! Rule: R4.15.

use std::time::Duration;

use mooring_plan::facts::{CallError, Fact, Kind};
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::{Claim, Ip};
use mooring_plan::outcome::Outcome;
use mooring_plan::reason::Reason;
use mooring_plan::step::{Read, StatusWrite, Step, Write};

use crate::sim::{Sim, key, status_write};

fn partner() -> IpName {
    IpName::from("partner")
}

/// The claim is recorded, and the gate of its holder is not `True` yet. A kubelet has written the pod since.
fn recorded() -> Sim {
    let mut sim = just_recorded();
    sim.now = sim.now.plus(Duration::from_millis(1));
    sim.kube.change_pod(&key("a"), |_| {});
    sim.deliver(0);
    sim
}

/// The claim is recorded, and the gate of its holder is not `True` yet.
fn just_recorded() -> Sim {
    let mut sim = Sim::new();
    for node in ["n1", "n2"] {
        sim.node(node);
    }
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Record));
    sim.deliver(0);
    sim
}

fn deliver_fact(sim: &mut Sim, fact: Fact) {
    sim.now = sim.now.plus(Duration::from_millis(1));
    sim.apply(fact);
}

fn next(sim: &Sim) -> Option<Step> {
    sim.controllers[0].facts().decide(&partner(), sim.now).step
}

fn ip_read(sim: &mut Sim, change: impl FnOnce(&mut Ip)) {
    let mut ip = sim.the_ip("partner").clone();
    change(&mut ip);
    deliver_fact(sim, Fact::IpRead(partner(), Some(ip)));
}

fn pod_read(sim: &mut Sim) {
    let pod = sim.the_pod("a").clone();
    deliver_fact(sim, Fact::PodRead(key("a"), Some(pod)));
}

fn says_true(step: Option<&Step>) -> bool {
    matches!(step, Some(Step::Write(Write::Gate(gate))) if gate.status)
}

#[test]
fn a_gate_opens_without_a_read_if_the_pod_is_unchanged() {
    let sim = just_recorded();
    let pod = sim.the_pod("a");
    let Some(Step::Write(Write::Gate(gate))) = next(&sim) else {
        panic!("{:?}", next(&sim));
    };
    assert!(gate.status);
    assert_eq!(gate.version, Some(pod.version), "guarded by what was seen");
}

#[test]
fn an_old_record_opens_no_gate_without_a_read() {
    let changed = recorded();
    assert_eq!(next(&changed), Some(Step::Read(Read::Pod(key("a")))));
    let mut late = just_recorded();
    late.now = late.now.plus(Duration::from_millis(5_001));
    assert_eq!(next(&late), Some(Step::Read(Read::Pod(key("a")))));
    // Another process wrote the IP since.
    let mut written = just_recorded();
    written
        .kube
        .change_ip(&partner(), None, |ip| ip.version.0 += 1);
    written.deliver(0);
    assert!(!says_true(next(&written).as_ref()), "{:?}", next(&written));
    // The write had a conflict: the watch lags.
    let mut lags = just_recorded();
    lags.controllers[0].stuck.insert(Kind::Pod);
    lags.kube.change_pod(&key("a"), |_| {});
    lags.step_until(|step| says_true(Some(step)));
    assert!(!says_true(next(&lags).as_ref()), "{:?}", next(&lags));
    lags.settle();
    lags.expect_attached("partner", "a");
}

#[test]
fn a_gate_opens_after_a_read_of_the_pod_and_then_of_the_ip() {
    let mut sim = recorded();
    // A read of the IP that was begun before the read of the pod proves nothing about the time in between.
    ip_read(&mut sim, |_| {});
    assert_eq!(next(&sim), Some(Step::Read(Read::Pod(key("a")))));
    pod_read(&mut sim);
    assert_eq!(next(&sim), Some(Step::Read(Read::Ip(partner()))));
    ip_read(&mut sim, |_| {});
    assert!(says_true(next(&sim).as_ref()), "{:?}", next(&sim));
}

#[test]
fn a_read_with_another_claim_address_or_ip_opens_no_gate() {
    let other_claim = |ip: &mut Ip| {
        ip.version = ResourceVersion(1);
        ip.status.claim = ip.status.claim.take().map(|claim| Claim {
            uid: "another".into(),
            ..claim
        });
    };
    let other_address = |ip: &mut Ip| {
        ip.version = ResourceVersion(1);
        ip.status.address = "203.0.113.99".parse().ok();
    };
    for change in [other_claim as fn(&mut Ip), other_address] {
        let mut sim = recorded();
        pod_read(&mut sim);
        ip_read(&mut sim, change);
        assert!(!says_true(next(&sim).as_ref()), "{:?}", next(&sim));
    }
}

#[test]
fn a_refusal_of_ec2_is_quoted_and_the_call_is_repeated() {
    let mut sim = Sim::new();
    sim.node("n1");
    sim.ip("partner", "203.0.113.10");
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    for outcome in [Outcome::Invalid, Outcome::ReservedByAws, Outcome::Primary] {
        let mut sim = sim.clone();
        let Some(Step::Call(call)) = next(&sim) else {
            panic!("{:?}", next(&sim));
        };
        let error = CallError::new(outcome, "InvalidParameterValue: it will not do");
        deliver_fact(
            &mut sim,
            Fact::Called {
                ip: partner(),
                call,
                result: Err(error),
            },
        );
        sim.step_until(status_write(StatusWrite::Conditions));
        let attached = sim.the_ip("partner").status.conditions.attached.clone();
        let attached = attached.unwrap();
        assert_eq!(
            (attached.status, attached.reason),
            (false, Reason::AttachFailed)
        );
        let words = "InvalidParameterValue: it will not do";
        assert!(attached.message.ends_with(words), "{attached:?}");
        sim.settle();
        sim.expect_attached("partner", "a");
    }
}

/// It is not known whether this version is from before or after the Record.
#[test]
fn a_pod_that_is_seen_to_change_as_the_record_begins_is_read_first() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.pod("a").on("n1");
    sim.step_until(|step| matches!(step, Step::Call(_)));
    sim.kube.change_pod(&key("a"), |_| {});
    let next = sim.step(0).unwrap();
    assert!(status_write(StatusWrite::Record)(&next), "{next:?}");
    sim.deliver(0);
    let next = self::next(&sim);
    assert_eq!(next, Some(Step::Read(Read::Pod(key("a")))));
}
