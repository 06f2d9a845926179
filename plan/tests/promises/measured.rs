//! Reports for metrics: each is sent when it is true, and not more often.

use std::collections::BTreeSet;
use std::time::Duration;

use mooring_plan::buckets::Budget;
use mooring_plan::cloud::Reassign;
use mooring_plan::engine::{Event, FailoverPart, Report};
use mooring_plan::facts::CallError;
use mooring_plan::lease::Leadership;
use mooring_plan::names::BlockName;
use mooring_plan::outcome::{Action, Outcome};
use mooring_plan::time::Instant;
use mooring_world::engine::leadership;

use crate::paced::{Paced, no_record};

const MINUTE: Duration = Duration::from_mins(1);

/// The values that `pick` selects from the reports, with their times.
fn reported<T>(world: &Paced, pick: impl Fn(&Report) -> Option<T>) -> Vec<(Instant, T)> {
    let reports = world.reports.iter();
    reports
        .filter_map(|(at, report)| Some((*at, pick(report)?)))
        .collect()
}

fn values<T>(world: &Paced, pick: impl Fn(&Report) -> Option<T>) -> Vec<T> {
    let reported = reported(world, pick).into_iter();
    reported.map(|(_, value)| value).collect()
}

fn leads(world: &mut Paced, leads: bool) {
    let now = world.now;
    world.engine.handle(leadership(leads), now);
    world.run(Duration::from_millis(100));
}

#[test]
fn the_end_of_the_first_lists_is_reported_once() {
    let mut world = Paced::attached_once();
    leads(&mut world, false);
    leads(&mut world, true);
    let synced = values(&world, |report| (*report == Report::Synced).then_some(()));
    assert_eq!(synced.len(), 1);
}

#[test]
fn a_change_of_the_leader_is_reported_by_both() {
    let mut world = Paced::attached_once();
    assert!(world.engine.leading());
    leads(&mut world, false);
    assert!(!world.engine.leading());
    leads(&mut world, true);
    let led = values(&world, |report| match report {
        Report::Leading(leads) => Some(*leads),
        _ => None,
    });
    assert_eq!(led, [true, false, true]);
}

#[test]
fn a_lease_that_is_not_renewed_ends_the_lead_at_that_very_moment() {
    let mut world = Paced::attached_once();
    let until = world.now.plus(Duration::from_millis(1234));
    let leadership = Leadership {
        until: Some(until),
        calls_until: Some(until),
    };
    let now = world.now;
    world.engine.handle(Event::Leadership(leadership), now);
    world.reports.clear();
    world.run(MINUTE);
    let led = reported(&world, |report| match report {
        Report::Leading(leads) => Some(*leads),
        _ => None,
    });
    assert_eq!(led, [(until, false)]);
}

#[test]
fn an_attach_is_measured_from_its_claim_to_its_record() {
    let world = Paced::attached_once();
    let took = values(&world, |report| match report {
        Report::Attached(took) => Some(*took),
        Report::Moved(took) => panic!("a move, of {took:?}"),
        _ => None,
    });
    // Two writes and a call, and the reads between them.
    assert_eq!(took.len(), 1);
    assert!(took[0] >= Duration::from_millis(34), "{took:?}");
    assert!(took[0] < Duration::from_millis(100), "{took:?}");
}

#[test]
fn a_claim_that_was_given_up_is_not_part_of_the_next_ones_time() {
    let mut world = Paced::new(2, 1, Reassign::Refuse);
    world.refuses = no_record;
    world.pod("db", 0, 0);
    world.run(Duration::from_secs(20));
    world.ends("db");
    world.run(Duration::from_mins(5));
    world.refuses = |_| None;
    world.pod("db", 0, 1);
    world.run(MINUTE);
    assert_eq!(world.attached(1), 1);
    let took = values(&world, |report| match report {
        Report::Attached(took) | Report::Moved(took) => Some(*took),
        _ => None,
    });
    assert_eq!(took.len(), 1);
    assert!(took[0] < Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_move_is_measured_as_one() {
    let mut world = Paced::attached_once();
    world.reports.clear();
    world.node_fails(0);
    world.ends("db");
    world.pod("db", 0, 1);
    world.run(Duration::from_mins(2));
    let took = values(&world, |report| match report {
        Report::Moved(took) => Some(*took),
        Report::Attached(took) => panic!("an attach, of {took:?}"),
        _ => None,
    });
    assert_eq!(took.len(), 1);
}

#[test]
fn addresses_are_counted_again_within_seconds_and_no_more_than_once_a_second() {
    let mut world = Paced::new(1, 3, Reassign::Refuse);
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        world.run(Duration::from_millis(300));
        world.pod(name, number, 0);
    }
    world.run(MINUTE);
    let counted = reported(&world, |report| match report {
        Report::Addresses(counts) => Some(counts.clone()),
        _ => None,
    });
    for pair in counted.windows(2) {
        let between = pair[1].0.since(pair[0].0);
        assert!(between >= Duration::from_secs(1), "{between:?}");
        assert!(between <= Duration::from_secs(6), "{between:?}");
    }
    let (_, last) = counted.last().unwrap();
    assert_eq!(last[&(BlockName::from("block"), "attached")], 3, "{last:?}");
}

#[test]
fn brake_probes_and_tokens_are_reported_with_the_count() {
    let mut world = Paced::attached_once();
    world.reports.clear();
    world.run(MINUTE);
    let counts = values(&world, |report| {
        matches!(report, Report::Addresses(_)).then_some(())
    });
    let brakes = values(&world, |report| match report {
        Report::Brake(block, engaged) => Some((block.as_str().to_owned(), *engaged)),
        _ => None,
    });
    let probes = values(&world, |report| {
        matches!(report, Report::Probed(_)).then_some(())
    });
    assert!(counts.len() >= 10);
    assert_eq!(brakes.len(), counts.len());
    assert_eq!(probes.len(), counts.len());
    assert_eq!(brakes[0], ("block".to_owned(), false));
}

#[test]
fn the_tokens_that_are_reported_are_those_that_are_left() {
    let mut world = Paced::new(1, 1, Reassign::Refuse);
    world.run(Duration::from_secs(20));
    let tokens = |world: &Paced, of: Action| {
        values(world, |report| match report {
            Report::Tokens(action, tokens) if *action == of => Some(*tokens),
            _ => None,
        })
    };
    let full = *tokens(&world, Action::Assign).last().unwrap();
    assert_eq!(full, Budget::default().burst);
    assert_eq!(*tokens(&world, Action::Unassign).last().unwrap(), full);
    // EC2 reports an empty bucket, and all tokens are refilled later.
    world.fail = vec![CallError::new(Outcome::Throttled, "")];
    world.pod("db", 0, 0);
    world.run(Duration::from_secs(2));
    let least = *tokens(&world, Action::Assign).iter().min().unwrap();
    assert!(least < full / 2, "{least} of {full}");
    assert_eq!(
        *tokens(&world, Action::Unassign).iter().min().unwrap(),
        full
    );
    world.run(MINUTE);
    assert_eq!(*tokens(&world, Action::Assign).last().unwrap(), full);
}

#[test]
fn a_process_that_leads_again_reports_counts_and_subnets_at_once() {
    let mut world = Paced::attached_once();
    let of_subnets = |world: &Paced| {
        values(world, |report| match report {
            Report::Subnets(subnets) => Some(subnets.clone()),
            _ => None,
        })
    };
    world.run(MINUTE);
    assert_eq!(of_subnets(&world).len(), 1);
    assert_eq!(of_subnets(&world)[0].len(), 1);
    // Directly after a count, so that the next one is not due yet.
    let counted = |report: &Report| matches!(report, Report::Addresses(_)).then_some(());
    world.reports.clear();
    while values(&world, counted).is_empty() {
        world.run(Duration::from_millis(100));
    }
    leads(&mut world, false);
    world.reports.clear();
    world.run(Duration::from_millis(100));
    leads(&mut world, true);
    assert_eq!(of_subnets(&world).len(), 1);
    assert_eq!(values(&world, counted).len(), 1);
}

#[test]
fn an_inventory_is_reported_with_how_long_it_took() {
    let world = Paced::attached_once();
    let took = values(&world, |report| match report {
        Report::Inventory(_, took) => Some(*took),
        _ => None,
    });
    assert!(!took.is_empty());
    assert!(
        took.iter().all(|took| *took == Duration::from_millis(20)),
        "{took:?}"
    );
}

#[test]
fn each_part_of_a_failover_has_a_word_of_its_own() {
    let words = FailoverPart::ALL.map(FailoverPart::as_str);
    let different: BTreeSet<&str> = words.into_iter().collect();
    assert_eq!(different.len(), words.len());
    assert!(!different.contains(""));
}

#[test]
fn a_former_leader_measures_no_failover() {
    let mut world = Paced::new(2, 1, Reassign::Refuse);
    world.change_blocks(|spec| spec.fast_failover = true);
    world.pod("db", 0, 0);
    world.run(Duration::from_secs(20));
    world.is_stopped(0);
    world.run(Duration::from_secs(2));
    assert_eq!(world.failovers.len(), 1);
    let now = world.now;
    world
        .engine
        .handle(Event::Leadership(Leadership::default()), now);
    world.run(Duration::from_secs(1));
    leads(&mut world, true);
    world.is_deleted("db");
    world.ends("db");
    world.pod("db", 0, 1);
    world.run(Duration::from_mins(2));
    assert_eq!(world.attached(1), 1);
    assert_eq!(world.failovers.len(), 1, "{:?}", world.failovers);
}

#[test]
fn a_claim_from_an_earlier_lead_is_not_measured() {
    let mut world = Paced::new(1, 1, Reassign::Refuse);
    world.refuses = no_record;
    world.pod("db", 0, 0);
    world.run(Duration::from_secs(20));
    leads(&mut world, false);
    world.run(Duration::from_hours(2));
    world.refuses = |_| None;
    leads(&mut world, true);
    world.run(MINUTE);
    assert_eq!(world.attached(1), 1);
    let took = values(&world, |report| match report {
        Report::Attached(took) | Report::Moved(took) => Some(*took),
        _ => None,
    });
    assert_eq!(took, []);
}
