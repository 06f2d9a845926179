//! Backoff for a step that is decided again and again although nothing failed: another client reverts it, or a read
//! does not help. Without it, the step could be requested a hundred times a second.
//! Rule: R5.33.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use crate::backoff::{Backoff, REPETITIONS};
use crate::names::IpName;
use crate::step::Step;
use crate::time::Instant;

/// Number of begins before the first wait: one move can need the same read several times.
const FREE: u32 = 4;
/// A step that was not repeated for this time is forgotten. It is longer than any wait, so that a wait does not reset
/// the count.
const FORGET_AFTER: Duration = Duration::from_secs(2);

/// Counts the recent steps of each IP, and delays those that repeat. Each step has its own count, so that a write that
/// always fails gets a backoff even with reads in between.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RepeatLimiter {
    begun: BTreeMap<IpName, Vec<Begun>>,
    /// The IPs that began a step, and when; the oldest first.
    order: VecDeque<(Instant, IpName)>,
}

/// A step that began, without versions: after each write of another client the same write has another version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Begun {
    step: Step,
    times: u32,
    latest: Instant,
    /// The present backoff; None: the step may begin at once.
    backoff: Option<Backoff>,
}

impl RepeatLimiter {
    /// Checks that this step may begin now.
    ///
    /// # Errors
    /// When it may begin.
    pub(super) fn check(&self, ip: &IpName, step: &Step, now: Instant) -> Result<(), Instant> {
        let Some(begun) = self.begun.get(ip) else {
            return Ok(());
        };
        let step = step.without_versions();
        let mut begun = begun.iter();
        let begun = begun.find(|begun| begun.step == step && !begun.is_forgotten(now));
        let until = begun.and_then(|begun| Some(begun.backoff.as_ref()?.until));
        until.filter(|until| now < *until).map_or(Ok(()), Err)
    }

    /// Notes that a step has begun.
    pub(super) fn began(&mut self, ip: &IpName, step: &Step, now: Instant) {
        let step = step.without_versions();
        self.order.push_back((now, ip.clone()));
        self.forget_old(now);
        let begun = self.begun.entry(ip.clone()).or_default();
        let Some(again) = begun.iter_mut().find(|begun| begun.step == step) else {
            begun.push(Begun {
                step,
                times: 1,
                latest: now,
                backoff: None,
            });
            return;
        };
        again.times = FREE.min(again.times + 1);
        again.latest = now;
        if again.times == FREE {
            again.backoff = Some(REPETITIONS.after(again.backoff.as_ref(), ip.as_str(), now));
        }
    }

    /// Removes the steps that were not repeated for long.
    pub(super) fn forget_old(&mut self, now: Instant) {
        let is_old = |(begun, _): &mut (Instant, IpName)| begun.plus(FORGET_AFTER) <= now;
        while let Some((_, ip)) = self.order.pop_front_if(is_old) {
            let Some(begun) = self.begun.get_mut(&ip) else {
                continue;
            };
            begun.retain(|begun| !begun.is_forgotten(now));
            if begun.is_empty() {
                self.begun.remove(&ip);
            }
        }
    }
}

impl Begun {
    fn is_forgotten(&self, now: Instant) -> bool {
        self.latest.plus(FORGET_AFTER) <= now
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;
    use alloc::vec::Vec;
    use core::time::Duration;

    use super::{FORGET_AFTER, FREE, RepeatLimiter};
    use crate::names::{IpName, ResourceVersion};
    use crate::step::{Read, Step, Write};
    use crate::time::Instant;

    fn run(steps: &[Step], from: Instant, to: Instant) -> usize {
        let (mut limiter, ip) = (RepeatLimiter::default(), IpName::from("a"));
        let (mut now, mut began) = (from, 0);
        while now < to {
            let step = steps[began % steps.len()].clone();
            match limiter.check(&ip, &step, now) {
                Ok(()) => {
                    limiter.began(&ip, &step, now);
                    began += 1;
                    now = now.plus(Duration::from_millis(1));
                }
                Err(due) => {
                    assert!(due > now, "to be asked again at once");
                    now = due;
                }
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
            let began = run(&cycle, Instant::START, Instant::from_secs(60));
            assert!(
                began <= 110 * length,
                "{began} steps in a cycle of {length}"
            );
        }
    }

    #[test]
    fn the_same_write_of_another_version_is_a_repetition() {
        let mut steps = Vec::new();
        for version in 0..1000 {
            steps.push(Step::Write(Write::AddFinalizer {
                ip: IpName::from("a"),
                version: ResourceVersion(version),
            }));
        }
        let began = run(&steps, Instant::START, Instant::from_secs(60));
        assert!(began <= 110, "{began} writes");
    }

    #[test]
    fn different_steps_never_wait() {
        let steps: Vec<Step> = (0..500).map(|number| read(&number.to_string())).collect();
        assert_eq!(run(&steps, Instant::START, Instant::from_millis(500)), 500);
    }

    #[test]
    fn a_step_that_waits_holds_no_other_one() {
        let (mut limiter, ip) = (RepeatLimiter::default(), IpName::from("a"));
        let now = Instant::START;
        limiter.began(&ip, &read("b"), now);
        for _ in 0..FREE {
            limiter.began(&ip, &read("a"), now);
        }
        assert!(limiter.check(&ip, &read("a"), now).is_err());
        assert_eq!(limiter.check(&ip, &read("b"), now), Ok(()));
        assert_eq!(limiter.check(&ip, &read("c"), now), Ok(()));
    }

    #[test]
    fn a_step_that_was_not_repeated_for_long_is_new_again() {
        let (mut limiter, ip) = (RepeatLimiter::default(), IpName::from("a"));
        for _ in 0..FREE {
            limiter.began(&ip, &read("a"), Instant::START);
        }
        let later = Instant::START.plus(FORGET_AFTER);
        for _ in 1..FREE {
            assert_eq!(limiter.check(&ip, &read("a"), later), Ok(()));
            limiter.began(&ip, &read("a"), later);
        }
        assert_eq!(limiter.check(&ip, &read("a"), later), Ok(()));
    }

    #[test]
    fn nothing_is_kept_of_a_step_that_was_not_repeated_for_long() {
        let mut limiter = RepeatLimiter::default();
        let half = Instant::START.plus(FORGET_AFTER / 2);
        limiter.began(&IpName::from("a"), &read("a"), Instant::START);
        limiter.began(&IpName::from("b"), &read("b"), Instant::START);
        limiter.began(&IpName::from("b"), &read("b"), half);
        limiter.forget_old(Instant::START.plus(FORGET_AFTER));
        assert_eq!(limiter.begun.len(), 1);
        limiter.forget_old(half.plus(FORGET_AFTER));
        assert_eq!(limiter, RepeatLimiter::default());
    }

    #[test]
    fn a_step_that_is_due_every_five_seconds_never_waits() {
        let (mut limiter, ip) = (RepeatLimiter::default(), IpName::from("a"));
        for second in (0..100).step_by(5) {
            let now = Instant::from_secs(second);
            assert_eq!(limiter.check(&ip, &read("a"), now), Ok(()), "{second}");
            limiter.began(&ip, &read("a"), now);
        }
    }
}
