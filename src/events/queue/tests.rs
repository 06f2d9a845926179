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
    while let Some(taken) = waiting.recv().await {
        notes.push(taken.event.note);
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
    assert_eq!(waiting.recv().await.unwrap().event.note, "on a");
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

fn warning(note: &str) -> NewEvent {
    event("Warning", "web", "AttachFailed", note)
}

#[tokio::test]
async fn a_full_queue_drops_its_oldest_normal_event_for_a_warning() {
    let (queue, waiting) = Queue::new();
    assert_eq!(queue.put(warning("first")), Put::Waits);
    for n in 1..WAITING {
        let pod = normal(&format!("pod-{n}"), "Attached", &n.to_string());
        assert_eq!(queue.put(pod), Put::Waits);
    }
    assert_eq!(queue.put(warning("second")), Put::Displaces);
    assert!(lock(&queue.line).dropping);
    // What was dropped is not replaced.
    assert_eq!(queue.put(normal("pod-1", "Attached", "1")), Put::Dropped);
    let notes = posted(queue, waiting).await;
    assert_eq!(
        (notes.len(), &notes[..2]),
        (WAITING, &["first".to_owned(), "2".to_owned()][..])
    );
    assert_eq!(notes.last().unwrap(), "second");
}

#[tokio::test]
async fn a_queue_that_is_full_of_warnings_drops_what_is_new() {
    let (queue, waiting) = Queue::new();
    for n in 0..WAITING {
        assert_eq!(queue.put(warning(&n.to_string())), Put::Waits);
    }
    assert_eq!(queue.put(warning("one more")), Put::Dropped);
    assert_eq!(queue.put(normal("web", "Attached", "on a")), Put::Dropped);
    let notes = posted(queue, waiting).await;
    assert_eq!((notes.len(), notes[0].as_str()), (WAITING, "0"));
}

#[tokio::test(start_paused = true)]
async fn a_warning_that_was_not_posted_is_given_out_twice_more_and_a_normal_event_is_not() {
    let (queue, mut waiting) = Queue::new();
    let _ = queue.put(warning("not attached"));
    for put_back in [true, true, false] {
        let taken = waiting.recv().await.unwrap();
        assert_eq!(taken.event.note, "not attached");
        assert_eq!(waiting.put_back(taken), put_back);
    }
    let _ = queue.put(normal("web", "Attached", "on a"));
    let taken = waiting.recv().await.unwrap();
    assert!(!waiting.put_back(taken));
    assert_eq!(posted(queue, waiting).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_warning_that_was_put_back_delays_no_other_event_and_is_given_out_before_the_end() {
    let (queue, mut waiting) = Queue::new();
    let _ = queue.put(warning("first"));
    let first = waiting.recv().await.unwrap();
    assert!(waiting.put_back(first));
    let _ = queue.put(warning("second"));
    assert_eq!(posted(queue, waiting).await, ["second", "first"]);
}
