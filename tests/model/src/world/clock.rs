//! Time without a clock. The moments in the facts of each process are relative to one fixed `NOW`. The model keeps
//! the whole seconds between each moment and `NOW` and, where it matters, the order of the moments within one
//! second. A step takes a millisecond, and the passing of time takes whole seconds and a little more. So a moment
//! is never exactly at a limit of `plan`, and smaller differences of time do not matter.

use std::collections::BTreeMap;
use std::time::Duration;

use mooring_plan::time::Instant;

/// The present time of every process in every state.
pub const NOW: Instant = Instant::from_millis(10_000_000);

/// The maximum age in seconds. The longest waits in `plan` that lead to a decision are one minute and two
/// inventory intervals. (`plan` keeps two memories for 600 s; the model keeps them forever.)
pub const MAX_AGE: u64 = 70;

/// The same after EC2 has denied calls: the longest wait after denials in a row is eight minutes.
pub const MAX_AGE_AFTER_DENIALS: u64 = 490;

/// The part of a second in milliseconds that is added each time that time passes.
const SLACK: u64 = 40;

/// The moments of a process, and the normalized value of each.
pub struct Normalized {
    pub reads: BTreeMap<Instant, Instant>,
    pub ordered: BTreeMap<Instant, Instant>,
    pub aged: BTreeMap<Instant, Instant>,
}

fn ahead(moment: Instant, now: Instant) -> Instant {
    let away = moment.as_millis() - now.as_millis();
    let seconds = away.saturating_sub(500).div_ceil(1000).max(1);
    NOW.plus(Duration::from_secs(seconds))
}

/// Normalizes the moments, relative to `now`. No moment is older than `max_age`.
pub fn normalize(
    reads: Vec<Instant>,
    ordered: Vec<Instant>,
    aged: &[Instant],
    now: Instant,
    max_age: u64,
) -> Normalized {
    let seconds_ago = |moment: Instant| now.since(moment).as_secs().min(max_age);
    let past = reads
        .iter()
        .chain(&ordered)
        .chain(aged)
        .filter(|moment| **moment <= now);
    let ago = past.map(|moment| seconds_ago(*moment));
    let mut seconds: Vec<u64> = ago.filter(|ago| *ago > 0).collect();
    seconds.sort_unstable();
    seconds.dedup();
    // Each time that time has passed adds a part of a second.
    let base = |ago: u64| {
        let passages = seconds.iter().position(|other| *other == ago);
        let passages = passages.map_or(0, |index| index as u64 + 1);
        NOW.as_millis() - ago * 1000 - (passages * SLACK).min(900)
    };
    let in_order = |mut moments: Vec<Instant>| {
        moments.sort_unstable();
        moments.dedup();
        let mut result = BTreeMap::new();
        let (mut rank, mut second) = (0, u64::MAX);
        for moment in moments.into_iter().rev() {
            if moment > now {
                result.insert(moment, ahead(moment, now));
                continue;
            }
            let ago = seconds_ago(moment);
            rank = if ago == second {
                (rank + 1).min(SLACK - 1)
            } else {
                1
            };
            second = ago;
            result.insert(moment, Instant::from_millis(base(ago) - rank));
        }
        result
    };
    let at = |moment: Instant| {
        if moment > now {
            ahead(moment, now)
        } else {
            Instant::from_millis(base(seconds_ago(moment)))
        }
    };
    Normalized {
        reads: in_order(reads),
        ordered: in_order(ordered),
        aged: aged.iter().map(|moment| (*moment, at(*moment))).collect(),
    }
}
