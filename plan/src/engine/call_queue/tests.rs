//! Tests which calls share a request, and when it is sent.
#![allow(clippy::unwrap_used)]

use super::{ADDRESSES_AT_ONCE, BATCH_WAIT, CallQueue, FORGET_AFTER, LastRequest};
use crate::address::Address;
use crate::cloud::Reassign;
use crate::names::{BlockName, InterfaceId, IpName};
use crate::step::{Call, CallGroup};
use crate::time::Instant;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

fn address(number: usize) -> Address {
    Address::v4([203, 0, 113, u8::try_from(number).unwrap()])
}

fn group() -> CallGroup {
    CallGroup::Unassign(InterfaceId::from("eni-a"))
}

/// Adds calls of this number of IPs.
fn waiting(queue: &mut CallQueue, ips: usize, now: Instant) {
    for number in 0..ips {
        let ip = IpName::new(alloc::format!("ip-{number:03}"));
        let call = Call::Unassign {
            interface: InterfaceId::from("eni-a"),
            address: address(number),
        };
        queue.push(&ip, &call, now);
    }
}

/// The number of addresses in each of a sequence of requests with these answers; an error names these addresses. `after` is the time between two.
fn sizes(queue: &mut CallQueue, answers: &[Result<(), &[usize]>], after: Duration) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut now = Instant::START;
    for answer in answers {
        let members = queue.members(&group());
        sizes.push(members.len());
        queue.begun(&group(), None, now);
        for (ip, _) in &members {
            queue.forget(ip);
        }
        now = now.plus(after);
        queue.forget_old(now, |_| true);
        match answer {
            Ok(()) => queue.succeeded(&group()),
            Err(named) => {
                let named = named.iter().copied().map(address).collect();
                queue.refused(&group(), &members, &named, now);
                queue.forget_old(now, |_| true);
                for (ip, address) in members {
                    let call = Call::Unassign {
                        interface: InterfaceId::from("eni-a"),
                        address,
                    };
                    queue.push(&ip, &call, now);
                }
            }
        }
    }
    sizes
}

const AT_ONCE: Duration = Duration::ZERO;

#[test]
fn a_refused_batch_is_halved_and_a_successful_one_is_doubled() {
    let mut queue = CallQueue::default();
    waiting(&mut queue, 40, Instant::START);
    let answers = [Err(&[][..]), Err(&[]), Ok(()), Ok(()), Ok(())];
    assert_eq!(sizes(&mut queue, &answers, AT_ONCE), [40, 20, 10, 20, 10]);
}

#[test]
fn a_refusal_that_comes_late_is_halved_as_well() {
    let mut queue = CallQueue::default();
    waiting(&mut queue, 40, Instant::START);
    let answers = [Err(&[][..]), Err(&[]), Err(&[])];
    assert_eq!(sizes(&mut queue, &answers, FORGET_AFTER), [40, 20, 10]);
}

#[test]
fn an_address_that_the_error_names_goes_alone_and_the_others_together() {
    let mut queue = CallQueue::default();
    waiting(&mut queue, 9, Instant::START);
    let answers = [Err(&[4][..]), Ok(()), Ok(())];
    assert_eq!(sizes(&mut queue, &answers, AT_ONCE), [9, 1, 8]);
}

#[test]
fn an_error_that_names_all_addresses_says_nothing_of_one() {
    let mut queue = CallQueue::default();
    waiting(&mut queue, 4, Instant::START);
    let answers = [Err(&[0, 1, 2, 3][..]), Ok(()), Ok(())];
    assert_eq!(sizes(&mut queue, &answers, AT_ONCE), [4, 2, 2]);
}

#[test]
fn no_request_is_larger_than_an_interface() {
    let mut queue = CallQueue::default();
    waiting(&mut queue, 200, Instant::START);
    assert_eq!(queue.members(&group()).len(), ADDRESSES_AT_ONCE);
}

#[test]
fn the_first_waits_only_for_others_that_come_and_the_next_for_its_spacing() {
    let (mut queue, now) = (CallQueue::default(), Instant::from_millis(5000));
    waiting(&mut queue, 1, now);
    assert!(queue.due(&group(), 100, false) <= now);
    assert_eq!(
        queue.due(&group(), 0, true),
        now.plus(Duration::from_secs(1))
    );
    queue.begun(&group(), None, now);
    waiting(&mut queue, 1, now.plus(Duration::from_millis(10)));
    assert_eq!(queue.due(&group(), 0, false), now);
    assert_eq!(
        queue.due(&group(), 2, false),
        now.plus(Duration::from_millis(250))
    );
    assert_eq!(
        queue.due(&group(), 100, false),
        now.plus(Duration::from_secs(2))
    );
}

#[test]
fn a_call_that_still_waits_keeps_its_place() {
    let mut queue = CallQueue::default();
    waiting(&mut queue, 3, Instant::from_millis(1));
    waiting(&mut queue, 3, Instant::from_millis(2));
    assert_eq!(queue.since(&group()), Some(Instant::from_millis(1)));
}

#[test]
fn blocks_take_turns_and_what_is_over_is_forgotten() {
    let (mut queue, a, b) = (
        CallQueue::default(),
        BlockName::from("a"),
        BlockName::from("b"),
    );
    queue.begun(&group(), Some(a.clone()), Instant::START);
    assert!(queue.turn(Some(&b)) < queue.turn(Some(&a)));
    queue.begun(&group(), Some(b.clone()), Instant::START);
    assert!(queue.turn(Some(&a)) < queue.turn(Some(&b)));
    queue.forget_old(Instant::START.plus(FORGET_AFTER), |block| *block == b);
    assert_eq!(queue.turn(Some(&a)), 0);
    assert!(queue.last.is_empty());
}

/// A model checker decides when a request is sent, so only the limits from refusals are kept.
#[cfg(feature = "timestamps")]
#[test]
fn without_timestamps_the_effect_of_a_refusal_stays() {
    let (mut queue, now) = (CallQueue::default(), Instant::from_millis(5000));
    waiting(&mut queue, 4, now);
    queue.begun(&group(), Some(BlockName::from("a")), now);
    let together = queue.members(&group());
    let (assign, other) = (
        CallGroup::Assign(InterfaceId::from("eni-a"), Reassign::Refuse),
        CallGroup::Unassign(InterfaceId::from("eni-b")),
    );
    queue.refused(&other, &together, &[address(1)].into(), now);
    queue.refused(&assign, &together, &[].into(), now);
    queue.set_next(Some(now));
    queue.note_claim_step(now);
    let named = queue.named.clone();
    assert_eq!(named.len(), 1);
    queue.forget_timestamps();
    let taught = LastRequest {
        at: Instant::START,
        most: 2,
    };
    let expected = CallQueue {
        last: BTreeMap::from([(assign, taught)]),
        named,
        ..CallQueue::default()
    };
    assert_eq!(queue, expected);
}

#[test]
fn more_claims_are_expected_for_a_short_time() {
    let (mut queue, now) = (CallQueue::default(), Instant::from_millis(5000));
    assert!(!queue.more_expected(now));
    queue.note_claim_step(now);
    assert!(queue.more_expected(now.plus(BATCH_WAIT)));
    assert!(!queue.more_expected(now.plus(BATCH_WAIT + Duration::from_millis(1))));
}
