//! Moments and lengths of time: arithmetic that does not overflow.
#![allow(missing_docs)]

use std::time::Duration;

use mooring_plan::time::Instant;

#[test]
fn time_never_runs_backwards() {
    let (early, late) = (Instant::from_secs(1), Instant::from_secs(3));
    assert_eq!(late.since(early), Duration::from_secs(2));
    assert_eq!(early.since(late), Duration::ZERO);
    assert_eq!(Instant::START.since(Instant::NEVER), Duration::ZERO);
}

#[test]
fn a_length_added_to_a_moment_gives_a_later_one() {
    let moment = Instant::from_secs(1);
    assert_eq!(
        moment.plus(Duration::from_secs(3)),
        Instant::from_millis(4000)
    );
    assert_eq!(moment.plus(Duration::ZERO), moment);
    assert_eq!(
        moment.plus(Duration::from_micros(2999)),
        Instant::from_millis(1002)
    );
}

#[test]
fn a_moment_too_far_ahead_is_never() {
    for length in [
        Duration::from_millis(u64::MAX),
        Duration::from_secs(u64::MAX),
        Duration::MAX,
    ] {
        assert_eq!(Instant::from_millis(1).plus(length), Instant::NEVER);
    }
    assert_eq!(
        Instant::NEVER.plus(Duration::from_millis(1)),
        Instant::NEVER
    );
    assert_eq!(Instant::from_secs(u64::MAX), Instant::NEVER);
}
