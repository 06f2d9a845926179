//! Parses durations in specs.

use std::time::Duration;

/// Parses a duration that the schema accepts. (`Duration` of kube panics for `1h-5m`, and for values that are too
/// long.)
pub(super) fn length(text: &str) -> Option<Duration> {
    let (mut rest, mut seconds) = (text, 0);
    for (unit, long) in [('h', 3600), ('m', 60), ('s', 1)] {
        let Some((number, after)) = rest.split_once(unit) else {
            continue;
        };
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        seconds += u64::from(number.parse::<u32>().ok()?) * long;
        rest = after;
    }
    (rest.is_empty() && !text.is_empty()).then(|| Duration::from_secs(seconds))
}
