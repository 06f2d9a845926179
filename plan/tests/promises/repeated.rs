//! A repeated refusal of EC2 is reported once.
//! Rule: R5.9.

use std::time::Duration;

use mooring_plan::reason::Reason;
use mooring_plan::step::{Regarding, StatusWrite};

use crate::sim::{Fault, Sim, status_write};

fn on_what(on: &Regarding) -> &'static str {
    match on {
        Regarding::Ip(..) => "IP",
        Regarding::Pod(..) => "pod",
        Regarding::Block(..) => "block",
        Regarding::Node(..) => "node",
    }
}

#[test]
fn an_hour_of_denied_calls_is_one_status_write_and_one_event_each() {
    let mut sim = Sim::reserved(&["n1"]);
    sim.ec2.faults.extend([Fault::Denied; 4000]);
    sim.pod("a").on("n1");
    sim.step_until(status_write(StatusWrite::Claim));
    sim.count_from_here();
    sim.wait(Duration::from_hours(1));
    assert!(sim.counts.assigns > 60, "{}", sim.story());
    assert_eq!(sim.counts.status_writes, 1, "{}", sim.story());
    let notices = sim.rules.notices(Reason::AccessDenied);
    let on: Vec<&str> = notices
        .iter()
        .map(|reported| on_what(&reported.on))
        .collect();
    assert_eq!(on, ["IP", "pod"], "each has one Event: {notices:#?}");
    for reported in notices.iter().map(|reported| &reported.message) {
        for word in ["ec2:AssignPrivateIpAddresses", "eni-n1", "Denied"] {
            assert!(reported.contains(word), "{reported}");
        }
    }
}
