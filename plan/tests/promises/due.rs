//! The engine begins work when it is due, and not more often.
//! Rules: R5.10, R5.35.

use std::collections::BTreeSet;
use std::time::Duration;

use mooring_plan::cloud::Reassign;
use mooring_plan::engine::{Completion, Event, Report, Work};
use mooring_plan::names::{BlockName, SubnetId};
use mooring_plan::objects::BlockSpec;
use mooring_plan::outcome::{Action, Outcome};
use mooring_plan::reason::Reason;
use mooring_plan::step::{BlockStep, Notice};
use mooring_plan::time::Instant;

use crate::paced::Paced;

const MINUTE: Duration = Duration::from_mins(1);
const SECOND: Duration = Duration::from_secs(1);

/// A world with one attached IP, in which no step is needed.
fn at_rest() -> Paced {
    let mut world = Paced::new(2, 1, Reassign::Refuse);
    world.pod("db", 0, 0);
    world.run(5 * MINUTE);
    assert_eq!(world.attached(1), 1);
    world
}

/// When the status or a label of this block was written.
fn written(world: &Paced, block: &str) -> Vec<Instant> {
    let steps = world.block_steps.iter();
    let steps = steps.filter(|(_, of, step)| {
        of.as_str() == block && matches!(step, BlockStep::Status { .. } | BlockStep::Label { .. })
    });
    steps.map(|(at, ..)| *at).collect()
}

fn rounds(world: &Paced) -> Vec<Instant> {
    let rounds: BTreeSet<Instant> = world.block_steps.iter().map(|(at, ..)| *at).collect();
    rounds.into_iter().collect()
}

fn spaces(of: &[Instant]) -> Vec<Duration> {
    of.windows(2).map(|pair| pair[1].since(pair[0])).collect()
}

/// For this time, another call of this action ends with this outcome every 10 ms.
pub fn throttled(world: &mut Paced, action: Action, outcome: Option<Outcome>, length: Duration) {
    let until = world.now.plus(length);
    while world.now < until {
        let completion = Completion {
            facts: Vec::new(),
            called: vec![(action, outcome)],
        };
        let work = Work::Inventory(SubnetId::from("other"));
        let event = Event::Completed(work, completion);
        let now = world.now;
        world.engine.handle(event, now);
        world.run(Duration::from_millis(10));
    }
}

#[test]
fn at_rest_it_wakes_for_blocks_and_inventories_alone() {
    let mut world = at_rest();
    world.wakes = 0;
    world.run(10 * MINUTE);
    // Every 5 seconds for the block; each inventory is at the same time as one of these.
    assert_eq!(world.wakes, 120);
}

#[test]
fn an_inventory_is_begun_each_interval() {
    let mut world = at_rest();
    world.inventories.clear();
    world.run(10 * MINUTE);
    assert_eq!(spaces(&world.inventories), [MINUTE; 9]);
}

#[test]
fn an_inventory_that_takes_long_is_not_begun_twice() {
    let mut world = at_rest();
    world.takes.1 = 2 * MINUTE;
    world.run(10 * MINUTE);
    let spaces = spaces(&world.inventories);
    assert_eq!(spaces.last(), Some(&(2 * MINUTE)), "{spaces:?}");
}

#[test]
fn a_block_is_of_use_within_a_moment() {
    let mut world = Paced::new(2, 0, Reassign::Refuse);
    world.run(Duration::from_millis(300));
    let labelled = world.kube.nodes.values();
    let labelled = labelled.filter(|node| !node.labels.is_empty());
    assert_eq!(labelled.count(), 2, "{:?}", world.block_steps);
}

#[test]
fn a_change_is_seen_in_the_status_of_its_block_within_a_second() {
    for phase in 0..10 {
        let mut world = at_rest();
        world.run(phase * SECOND / 2);
        world.block_steps.clear();
        let changed = world.now;
        world.ip(1);
        world.run(MINUTE);
        let first = written(&world, "block")[0];
        assert!(first.since(changed) <= SECOND, "{phase}: {first:?}");
    }
}

#[test]
fn a_label_that_is_taken_off_comes_back_within_a_second() {
    for phase in 0..10 {
        let mut world = at_rest();
        world.run(phase * SECOND / 2);
        world.block_steps.clear();
        let changed = world.now;
        world.change_node(0, |node| node.labels.clear());
        world.run(MINUTE);
        let first = written(&world, "block")[0];
        assert!(first.since(changed) <= SECOND, "{phase}: {first:?}");
    }
}

#[test]
fn a_change_while_the_steps_of_its_block_last_is_seen_within_a_second_of_their_end() {
    let mut world = at_rest();
    world.takes.0 = 3 * SECOND;
    world.ip(1);
    world.run(2 * SECOND);
    world.block_steps.clear();
    world.ip(2);
    world.run(MINUTE);
    let rounds = rounds(&world);
    assert_eq!(rounds.len(), 1, "{rounds:?}");
    let status = world.kube.blocks.values().next().unwrap().status.clone();
    assert_eq!(status.reserved, 3);
}

#[test]
fn the_rounds_of_a_block_do_not_overlap() {
    let mut world = at_rest();
    world.takes.0 = 3 * SECOND;
    for number in 1..40 {
        world.ip(number);
        world.run(SECOND / 2);
    }
    let least = spaces(&rounds(&world)[3..]).into_iter().min();
    assert!(least >= Some(3 * SECOND), "{least:?}");
}

#[test]
fn the_status_of_a_block_is_written_no_more_than_once_a_second() {
    let mut world = at_rest();
    world.block_steps.clear();
    for number in 1..100 {
        world.ip(number);
        world.run(SECOND / 20);
    }
    let spaces = spaces(&written(&world, "block"));
    assert!(spaces.len() >= 3, "{spaces:?}");
    assert!(spaces.iter().all(|space| *space >= SECOND), "{spaces:?}");
}

/// The API server refuses the label of the first node.
fn refuses_one_label(step: &BlockStep) -> bool {
    matches!(step, BlockStep::Label { node, .. } if node.as_str() == "n00")
}

#[test]
fn a_label_that_is_refused_is_tried_again_with_backoff_and_reported() {
    let mut world = at_rest();
    world.refuses_blocks = refuses_one_label;
    world.change_node(0, |node| node.labels.clear());
    world.run(5 * SECOND);
    let ready = world.kube.blocks.values().next().unwrap();
    let message = &ready.status.conditions["Ready"].message;
    assert!(message.contains("denied by a policy"), "{message}");
    world.run(MINUTE);
    world.block_steps.clear();
    world.run(5 * MINUTE);
    let tried = written(&world, "block").len();
    assert!((8..=15).contains(&tried), "{tried}");
    let on_block = |notice: &&Notice| notice.reason == Reason::WriteRefused;
    assert_eq!(world.notices.iter().filter(on_block).count(), 1);
}

#[test]
fn a_label_that_is_refused_delays_no_other() {
    let mut world = at_rest();
    world.refuses_blocks = refuses_one_label;
    world.change_node(0, |node| node.labels.clear());
    world.run(5 * MINUTE);
    world.change_node(1, |node| node.labels.clear());
    world.run(2 * SECOND);
    let node = world.kube.nodes.values().last().unwrap();
    assert!(!node.labels.is_empty(), "{:?}", world.block_steps);
}

/// Two blocks of one subnet: IPs from number 128 on are in the second one.
fn two_blocks() -> Paced {
    let mut world = Paced::new(1, 1, Reassign::Refuse);
    world.block("other", "203.0.113.128/25");
    world.change_blocks(|spec: &mut BlockSpec| {
        let range = if spec.range.contains("203.0.113.128".parse().unwrap())
            && !spec.range.contains("203.0.113.0".parse().unwrap())
        {
            "203.0.113.128/25"
        } else {
            "203.0.113.0/25"
        };
        spec.range = mooring_plan::block::BlockRange::parse(range, []).unwrap();
    });
    world.run(5 * MINUTE);
    world
}

#[test]
fn a_block_that_is_not_due_yet_is_looked_at_when_it_is() {
    for phase in 0..10 {
        let mut world = two_blocks();
        world.ip(128);
        world.run(phase * SECOND / 10);
        world.ip(1);
        world.ip(129);
        let changed = world.now;
        world.block_steps.clear();
        world.run(MINUTE);
        for block in ["block", "other"] {
            let first = written(&world, block)[0];
            assert!(
                first.since(changed) <= SECOND,
                "{phase}: {block}, {first:?}"
            );
        }
    }
}

#[test]
fn an_ip_is_counted_in_its_own_block_alone() {
    let mut world = two_blocks();
    world.pod("db", 0, 0);
    world.change_blocks(|spec| spec.probe = true);
    world.run(MINUTE);
    assert_eq!(world.attached(1), 1);
    let reserved = |name: &str| world.kube.blocks[&BlockName::from(name)].status.reserved;
    assert_eq!((reserved("block"), reserved("other")), (1, 0));
    let counts = world
        .reports
        .iter()
        .rev()
        .find_map(|(_, report)| match report {
            Report::Addresses(counts) => Some(counts.clone()),
            _ => None,
        });
    let counts = counts.unwrap();
    let attached = |name: &str| counts.get(&(BlockName::from(name), "attached")).copied();
    assert_eq!(attached("block"), Some(1));
    assert_eq!(attached("other").unwrap_or(0), 0);
}

#[test]
fn a_throttled_action_is_not_called_before_there_is_a_token() {
    let mut world = at_rest();
    world.inventories.clear();
    throttled(
        &mut world,
        Action::DescribeInterfaces,
        Some(Outcome::Throttled),
        3 * MINUTE,
    );
    assert_eq!(world.inventories, []);
    for outcome in [None, Some(Outcome::Unknown)] {
        world.inventories.clear();
        throttled(&mut world, Action::DescribeInterfaces, outcome, 3 * MINUTE);
        assert!(!world.inventories.is_empty());
    }
}

#[test]
fn reads_of_blocks_need_tokens() {
    let reads_subnet = |step: &BlockStep| matches!(step, BlockStep::ReadSubnet(_));
    let reads_limits = |step: &BlockStep| matches!(step, BlockStep::ReadLimits(_));
    for (action, reads) in [
        (
            Action::DescribeSubnets,
            &reads_subnet as &dyn Fn(&BlockStep) -> bool,
        ),
        (Action::DescribeInstanceTypes, &reads_limits),
    ] {
        let mut world = Paced::new(1, 0, Reassign::Refuse);
        throttled(&mut world, action, Some(Outcome::Throttled), MINUTE);
        let read = |world: &Paced| world.block_steps.iter().any(|(.., step)| reads(step));
        assert!(!read(&world), "{action}");
        world.run(MINUTE);
        assert!(read(&world), "{action}");
    }
}
