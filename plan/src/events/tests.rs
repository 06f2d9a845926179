//! Which Events of a burst are posted, by order and count.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::{EventQueue, LONGEST_WAIT, NewEvent, RETURN_AFTER, Subject, WAITING};
use crate::reason::EventType;
use crate::time::Instant;
use core::time::Duration;

const NOW: Instant = Instant::from_secs(1);

fn event(event_type: EventType, name: &str, reason: &'static str, note: &str) -> NewEvent {
    let subject = Subject {
        api_version: "v1".to_owned(),
        kind: "Pod",
        namespace: Some("shop".to_owned()),
        name: name.to_owned(),
        uid: None,
    };
    NewEvent {
        subject,
        event_type,
        reason,
        action: reason,
        note: note.to_owned(),
    }
}

fn normal(name: &str, reason: &'static str, note: &str) -> NewEvent {
    event(EventType::Normal, name, reason, note)
}

fn warning(note: &str) -> NewEvent {
    event(EventType::Warning, "web", "AttachFailed", note)
}

fn taken(queue: &mut EventQueue) -> String {
    queue.take(NOW).unwrap().event.note
}

/// The notes of all Events that are posted after the queue is closed.
fn posted(mut queue: EventQueue) -> Vec<String> {
    core::iter::from_fn(|| Some(queue.take_at_end()?.event.note)).collect()
}

#[test]
fn of_equal_normal_events_that_wait_only_the_last_is_posted_after_what_came_before_it() {
    let mut queue = EventQueue::default();
    for event in [
        normal("web", "Attached", "on a"),
        normal("web", "Detached", "off a"),
        normal("other", "Attached", "on c"),
        normal("web", "Attached", "on b"),
    ] {
        assert!(!queue.put(event));
    }
    assert_eq!(posted(queue), ["off a", "on c", "on b"]);
}

#[test]
fn an_event_that_was_taken_for_posting_is_replaced_by_none() {
    let mut queue = EventQueue::default();
    assert!(!queue.put(normal("web", "Attached", "on a")));
    assert_eq!(taken(&mut queue), "on a");
    assert!(!queue.put(normal("web", "Attached", "on b")));
    assert_eq!(posted(queue), ["on b"]);
}

#[test]
fn every_warning_is_posted() {
    let mut queue = EventQueue::default();
    for note in ["first", "second", "first"] {
        assert!(!queue.put(warning(note)));
    }
    assert_eq!(posted(queue), ["first", "second", "first"]);
}

#[test]
fn a_full_queue_drops_what_is_new_and_still_merges() {
    let mut queue = EventQueue::default();
    for n in 0..WAITING {
        let pod = normal(&format!("pod-{n}"), "Attached", "on a");
        assert!(!queue.put(pod));
    }
    let more = normal("one-more", "Attached", "on a");
    assert!(queue.put(more));
    let again = normal("pod-0", "Attached", "on b");
    assert!(!queue.put(again));
    let notes = posted(queue);
    let last = notes.last().unwrap();
    assert_eq!((notes.len(), last.as_str()), (WAITING, "on b"));
}

#[test]
fn a_burst_of_dropped_events_is_logged_once_and_ends_when_none_waits() {
    let mut queue = EventQueue::default();
    for _ in 0..2 {
        let puts = (0..WAITING + 2).map(|n| queue.put(normal(&n.to_string(), "Attached", "")));
        assert_eq!(puts.filter(|dropped| *dropped).count(), 2);
        assert!(queue.begins_to_drop());
        for _ in 0..WAITING {
            assert!(queue.take(NOW).is_some());
            assert!(!queue.begins_to_drop());
        }
        assert_eq!(queue.take(NOW), None);
    }
}

#[test]
fn nothing_is_kept_of_what_was_posted() {
    let mut queue = EventQueue::default();
    for n in 0..100 {
        assert!(!queue.put(normal(&format!("pod-{n}"), "Attached", "on a")));
        taken(&mut queue);
    }
    assert_eq!((queue.events.len(), queue.normal.len()), (0, 0));
}

#[test]
fn a_full_queue_drops_its_oldest_normal_event_for_a_warning() {
    let mut queue = EventQueue::default();
    assert!(!queue.put(warning("first")));
    for n in 1..WAITING {
        let pod = normal(&format!("pod-{n}"), "Attached", &n.to_string());
        assert!(!queue.put(pod));
    }
    assert!(queue.put(warning("second")));
    // What was dropped is not replaced.
    assert!(queue.put(normal("pod-1", "Attached", "1")));
    let notes = posted(queue);
    assert_eq!(
        (notes.len(), &notes[..2]),
        (WAITING, &["first".to_owned(), "2".to_owned()][..])
    );
    assert_eq!(notes.last().unwrap(), "second");
}

#[test]
fn a_queue_that_is_full_of_warnings_drops_what_is_new() {
    let mut queue = EventQueue::default();
    for n in 0..WAITING {
        assert!(!queue.put(warning(&n.to_string())));
    }
    assert!(queue.put(warning("one more")));
    assert!(queue.put(normal("web", "Attached", "on a")));
    let notes = posted(queue);
    assert_eq!((notes.len(), notes[0].as_str()), (WAITING, "0"));
}

#[test]
fn a_warning_that_was_not_posted_is_given_out_twice_more_and_a_normal_event_is_not() {
    let mut queue = EventQueue::default();
    assert!(!queue.put(warning("not attached")));
    let mut now = NOW;
    for put_back in [true, true, false] {
        let taken = queue.take(now).unwrap();
        assert_eq!(taken.event.note, "not attached");
        assert_eq!(queue.put_back(taken, now), put_back);
        assert_eq!(queue.take(now), None);
        now = now.plus(RETURN_AFTER);
    }
    assert!(!queue.put(normal("web", "Attached", "on a")));
    let taken = queue.take(now).unwrap();
    assert!(!queue.put_back(taken, now));
    assert_eq!(posted(queue), Vec::<String>::new());
}

#[test]
fn a_warning_that_was_put_back_delays_no_other_event_and_is_given_out_before_the_end() {
    let mut queue = EventQueue::default();
    assert!(!queue.put(warning("first")));
    let first = queue.take(NOW).unwrap();
    assert!(queue.put_back(first, NOW));
    assert_eq!(queue.next_return(), Some(NOW.plus(RETURN_AFTER)));
    for note in ["second", "third"] {
        assert!(!queue.put(warning(note)));
    }
    assert_eq!(taken(&mut queue), "second");
    assert_eq!(posted(queue), ["third", "first"]);
}

#[test]
fn no_event_waits_for_requests_while_half_of_the_queue_is_full() {
    let mut queue = EventQueue::default();
    for _ in 0..WAITING / 2 {
        assert_eq!(queue.wait_for_requests(), LONGEST_WAIT);
        assert!(!queue.put(warning("")));
    }
    assert_eq!(queue.wait_for_requests(), Duration::ZERO);
}
