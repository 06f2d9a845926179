//! Time without a clock. Each process's facts are told relative to one fixed `NOW`; of every moment in
//! them the model keeps how many whole seconds ago it was and, where it matters, the order of what
//! happened in one second. Steps take a millisecond and passages take whole seconds and a little, so
//! that a moment is never exactly on a limit of `plan`'s: which of two runs that differ by less is meant
//! is left open.

use std::collections::BTreeMap;

use mooring_plan::names::Millis;

/// The present, of every process, in every state.
pub const NOW: Millis = Millis(10_000_000);

/// What is longer ago than this is long ago: a minute, and twice the inventory interval, are the longest
/// waits in `plan` that end in a decision. (Two memories are kept for 600 s; here they are kept for ever.)
const LONG_AGO: u64 = 70;

/// Between two passages there is always this much more than whole seconds.
const SLACK: u64 = 40;

/// The moments of a process, and where each is told to be.
pub struct Told {
    pub reads: BTreeMap<Millis, Millis>,
    pub ordered: BTreeMap<Millis, Millis>,
    pub aged: BTreeMap<Millis, Millis>,
}

fn ahead(moment: Millis, now: Millis) -> Millis {
    let seconds = (moment.0 - now.0).saturating_sub(500).div_ceil(1000).max(1);
    NOW.plus(Millis(seconds * 1000))
}

fn seconds_ago(moment: Millis, now: Millis) -> u64 {
    ((now.0 - moment.0) / 1000).min(LONG_AGO)
}

/// Tells the moments anew, as seen from `now`.
pub fn settled(reads: Vec<Millis>, ordered: Vec<Millis>, aged: &[Millis], now: Millis) -> Told {
    let past = reads
        .iter()
        .chain(&ordered)
        .chain(aged)
        .filter(|moment| **moment <= now);
    let ago = past.map(|moment| seconds_ago(*moment, now));
    let mut seconds: Vec<u64> = ago.filter(|ago| *ago > 0).collect();
    seconds.sort_unstable();
    seconds.dedup();
    // The more passages lie between, the more than whole seconds have passed.
    let base = |ago: u64| {
        let passages = seconds.iter().position(|other| *other == ago);
        let passages = passages.map_or(0, |index| index as u64 + 1);
        NOW.0 - ago * 1000 - (passages * SLACK).min(900)
    };
    let in_order = |mut moments: Vec<Millis>| {
        moments.sort_unstable();
        moments.dedup();
        let mut told = BTreeMap::new();
        let (mut rank, mut second) = (0, u64::MAX);
        for moment in moments.into_iter().rev() {
            if moment > now {
                told.insert(moment, ahead(moment, now));
                continue;
            }
            let ago = seconds_ago(moment, now);
            rank = if ago == second {
                (rank + 1).min(SLACK - 1)
            } else {
                1
            };
            second = ago;
            told.insert(moment, Millis(base(ago) - rank));
        }
        told
    };
    let at = |moment: Millis| {
        if moment > now {
            ahead(moment, now)
        } else {
            Millis(base(seconds_ago(moment, now)))
        }
    };
    Told {
        reads: in_order(reads),
        ordered: in_order(ordered),
        aged: aged.iter().map(|moment| (*moment, at(*moment))).collect(),
    }
}
