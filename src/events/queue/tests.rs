//! Tests which Events of a burst are posted, by order and count.

use super::{Put, Queue, WAITING, Waiting, lock};
use crate::events::{NewEvent, Subject};

fn event(event_type: &'static str, name: &str, reason: &'static str, note: &str) -> NewEvent {
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
    event("Normal", name, reason, note)
}

/// The notes of all Events that are posted after the queue is closed.
async fn posted(queue: Queue, mut waiting: Waiting) -> Vec<String> {
    drop(queue);
    let mut notes = Vec::new();
    while let Some(event) = waiting.recv().await {
        notes.push(event.note);
    }
    notes
}

#[tokio::test]
async fn of_equal_normal_events_that_wait_only_the_last_is_posted_after_what_came_before_it() {
    let (queue, waiting) = Queue::new();
    let put = [
        normal("web", "Attached", "on a"),
        normal("web", "Detached", "off a"),
        normal("other", "Attached", "on c"),
        normal("web", "Attached", "on b"),
    ]
    .map(|event| queue.put(event));
    assert_eq!(put, [Put::Waits, Put::Waits, Put::Waits, Put::Replaces]);
    assert_eq!(posted(queue, waiting).await, ["off a", "on c", "on b"]);
}

#[tokio::test]
async fn an_event_that_was_taken_for_posting_is_replaced_by_none() {
    let (queue, mut waiting) = Queue::new();
    assert_eq!(queue.put(normal("web", "Attached", "on a")), Put::Waits);
    assert_eq!(waiting.recv().await.unwrap().note, "on a");
    assert_eq!(queue.put(normal("web", "Attached", "on b")), Put::Waits);
    assert_eq!(posted(queue, waiting).await, ["on b"]);
}

#[tokio::test]
async fn every_warning_is_posted() {
    let (queue, waiting) = Queue::new();
    for note in ["first", "second", "first"] {
        let warning = event("Warning", "web", "AttachFailed", note);
        assert_eq!(queue.put(warning), Put::Waits);
    }
    assert_eq!(posted(queue, waiting).await, ["first", "second", "first"]);
}

#[tokio::test]
async fn a_full_queue_drops_what_is_new_and_still_merges() {
    let (queue, waiting) = Queue::new();
    for n in 0..WAITING {
        assert_eq!(
            queue.put(normal(&format!("pod-{n}"), "Attached", "on a")),
            Put::Waits
        );
    }
    assert_eq!(
        queue.put(normal("one-more", "Attached", "on a")),
        Put::Dropped
    );
    assert_eq!(
        queue.put(normal("pod-0", "Attached", "on b")),
        Put::Replaces
    );
    let notes = posted(queue, waiting).await;
    assert_eq!(
        (notes.len(), notes.last().unwrap().as_str()),
        (WAITING, "on b")
    );
}

#[tokio::test]
async fn a_burst_of_dropped_events_ends_when_none_waits() {
    let (queue, mut waiting) = Queue::new();
    let fill = || {
        let puts = (0..WAITING + 2).map(|n| queue.put(normal(&n.to_string(), "Attached", "")));
        puts.filter(|put| *put == Put::Dropped).count()
    };
    assert_eq!(fill(), 2);
    assert!(lock(&queue.line).dropping);
    for _ in 0..WAITING {
        assert!(waiting.recv().await.is_some());
        // One burst causes one line in the log.
        assert!(lock(&queue.line).dropping);
    }
    assert!(lock(&queue.line).take().is_none());
    assert!(!lock(&queue.line).dropping);
    assert_eq!(fill(), 2);
}

#[tokio::test]
async fn nothing_is_kept_of_what_was_posted() {
    let (queue, mut waiting) = Queue::new();
    for n in 0..100 {
        let _ = queue.put(normal(&format!("pod-{n}"), "Attached", "on a"));
        waiting.recv().await.unwrap();
    }
    let line = lock(&queue.line);
    assert_eq!((line.events.len(), line.normal.len()), (0, 0));
}
