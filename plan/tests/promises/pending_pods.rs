//! An IP names the pod that asks for it and is not scheduled yet. Such a pod gets no reason.
//! Rule: R3.31.

use std::time::Duration;

use mooring_plan::reason::Reason;

use crate::sim::Sim;
use crate::waiting_reasons::{HOUR, reported, world};

/// The message of the condition `Attached` of the IP.
fn attached(sim: &Sim) -> String {
    let conditions = &sim.the_ip("partner").status.conditions;
    conditions.attached.clone().unwrap().message
}

#[test]
fn an_ip_names_the_pending_pod_that_asks_for_it() {
    let mut sim = world();
    assert!(attached(&sim).starts_with("no pod asks for it"));
    sim.count_from_here();
    sim.pod("pw");
    sim.wait(Duration::from_millis(1_900));
    sim.expect_cost(0, 0, 0);
    sim.wait(Duration::from_millis(200));
    let words = "pod default/pw asks for it and is not scheduled yet";
    assert_eq!(attached(&sim), words);
    sim.wait(HOUR);
    assert_eq!(attached(&sim), words);
    sim.expect_cost(0, 1, 0);
    sim.remove_pod("pw");
    sim.settle();
    assert!(attached(&sim).starts_with("no pod asks for it"));
}

#[test]
fn an_ip_names_no_pod_without_the_annotation() {
    let left: [fn(&mut mooring_plan::objects::Pod); 4] = [
        |pod| pod.ended = true,
        |pod| pod.deleting = Some(30),
        |pod| pod.annotated = false,
        |pod| pod.ip = Some("an-earlier-ip".into()),
    ];
    for (which, leave) in left.into_iter().enumerate() {
        let mut sim = world();
        sim.pod("pw");
        sim.change_pod("pw", leave);
        sim.wait(HOUR);
        let message = attached(&sim);
        assert!(
            message.starts_with("no pod asks for it"),
            "{which}: {message}"
        );
    }
}

#[test]
fn a_pod_without_a_node_gets_no_reason_of_the_ip() {
    let mut sim = world();
    sim.found_on("203.0.113.10", Some("eni-n2"));
    sim.pod("a");
    sim.wait(HOUR);
    sim.expect_reason("partner", Reason::AddressInUse);
    assert!(reported(&sim, "a").is_empty(), "{}", sim.story());
}
