//! Parses durations in flags.

use std::str::FromStr as _;
use std::time::Duration;

use crate::supervise::BoxError;

/// Parses a duration such as `15s`, `1m30s` or `500ms`.
pub(super) fn duration(text: &str) -> Result<Duration, BoxError> {
    let duration = Duration::try_from(jiff::SignedDuration::from_str(text)?)
        .map_err(|_| "a length of time cannot be negative")?;
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::duration;

    #[test]
    fn lengths_of_time_are_read_and_nonsense_is_not() {
        for (text, length) in [
            ("15s", 15_000),
            ("500ms", 500),
            ("1m30s", 90_000),
            ("0s", 0),
        ] {
            assert_eq!(
                duration(text).unwrap(),
                Duration::from_millis(length),
                "{text}"
            );
        }
        for text in ["", "15", "-5s", "soon"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
