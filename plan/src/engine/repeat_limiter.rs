//! A limit on repetition beside the backoff of what fails: a step that is decided again and again although
//! nothing failed must not be requested a thousand times a second.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::names::{IpName, Millis};
use crate::step::Step;

/// No wait before this many: reads are repeated within one round of a move.
const FREE: u32 = 3;
/// The first wait; it doubles with each repetition.
const FIRST_WAIT: Millis = Millis(100);
/// Up to 0.8 s: less than the second after which the rules try a call again that EC2 does not serve.
const DOUBLINGS: u32 = 3;
/// A step that was not repeated for this long is forgotten. Longer than any wait, so that waiting is no pause.
const FORGET_AFTER: Millis = Millis::seconds(5);

/// The steps that each IP began lately: how often, and when last. They are counted apart, so that a write
/// that is refused for good is spaced although reads come between.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RepeatLimiter {
    last: BTreeMap<IpName, Vec<(Step, u32, Millis)>>,
}

impl RepeatLimiter {
    /// May this step begin now?
    ///
    /// # Errors
    /// When it may.
    pub(super) fn check(&self, ip: &IpName, step: &Step, now: Millis) -> Result<(), Millis> {
        let mut last = self.last.get(ip).into_iter().flatten();
        let Some((_, times, latest)) = last.find(|(before, ..)| before == step) else {
            return Ok(());
        };
        if *times <= FREE || latest.plus(FORGET_AFTER) <= now {
            return Ok(());
        }
        let due = latest.plus(Millis(FIRST_WAIT.0 << (times - FREE).min(DOUBLINGS)));
        if now < due { Err(due) } else { Ok(()) }
    }

    /// It has begun.
    pub(super) fn began(&mut self, ip: &IpName, step: Step, now: Millis) {
        let last = self.last.entry(ip.clone()).or_default();
        last.retain(|(_, _, latest)| now < latest.plus(FORGET_AFTER));
        match last.iter_mut().find(|(before, ..)| *before == step) {
            Some((_, times, latest)) => (*times, *latest) = (times.saturating_add(1), now),
            None => last.push((step, 1, now)),
        }
    }

    /// The IP is at rest, or gone.
    pub(super) fn forget(&mut self, ip: &IpName) {
        self.last.remove(ip);
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;
    use alloc::vec::Vec;

    use super::RepeatLimiter;
    use crate::names::{IpName, Millis};
    use crate::step::{Read, Step};

    fn run(steps: &[Step], from: Millis, to: Millis) -> usize {
        let (mut limiter, ip) = (RepeatLimiter::default(), IpName::from("a"));
        let (mut now, mut began) = (from, 0);
        while now < to {
            let step = steps[began % steps.len()].clone();
            match limiter.check(&ip, &step, now) {
                Ok(()) => {
                    limiter.began(&ip, step, now);
                    began += 1;
                    now = now.plus(Millis(1));
                }
                Err(due) => now = due,
            }
        }
        began
    }

    fn read(name: &str) -> Step {
        Step::Read(Read::Ip(IpName::from(name)))
    }

    #[test]
    fn a_step_or_a_cycle_of_steps_that_comes_back_at_once_is_spaced() {
        for length in [1, 2, 3, 7, 20] {
            let cycle: Vec<Step> = (0..length)
                .map(|number| read(&number.to_string()))
                .collect();
            let began = run(&cycle, Millis(0), Millis::seconds(60));
            assert!(began <= 80 * length, "{began} steps in a cycle of {length}");
        }
    }

    #[test]
    fn different_steps_never_wait() {
        let steps: Vec<Step> = (0..500).map(|number| read(&number.to_string())).collect();
        assert_eq!(run(&steps, Millis(0), Millis(500)), 500);
    }

    #[test]
    fn a_step_that_is_due_every_five_seconds_never_waits() {
        let (mut limiter, ip) = (RepeatLimiter::default(), IpName::from("a"));
        for second in (0..100).step_by(5) {
            let now = Millis::seconds(second);
            assert_eq!(limiter.check(&ip, &read("a"), now), Ok(()), "{second}");
            limiter.began(&ip, read("a"), now);
        }
    }
}
