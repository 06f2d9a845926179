//! A net under the rules, which space what fails: a step that is chosen again and again although
//! nothing failed must not be asked for a thousand times a second.

use std::collections::BTreeMap;

use mooring_plan::names::{IpName, Millis};
use mooring_plan::step::Step;

/// So often is no repetition yet: reads come back in one round of a move.
const FREE: u32 = 3;
/// The first wait; it doubles with each repetition.
const FIRST: Millis = Millis(100);
/// Up to 0.8 s: less than the second after which the rules try a call again that EC2 does not serve.
const DOUBLINGS: u32 = 3;
/// What did not come back for so long is forgotten. Longer than any wait, so that waiting is no pause.
const FORGOTTEN: Millis = Millis::seconds(5);

/// The steps that each IP began lately: how often, and when last. They are counted apart, so that a write
/// that is refused for good is spaced although reads come between.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last: BTreeMap<IpName, Vec<(Step, u32, Millis)>>,
}

impl Pace {
    /// May this step begin now? Else, when.
    pub(super) fn check(&self, ip: &IpName, step: &Step, now: Millis) -> Result<(), Millis> {
        let mut last = self.last.get(ip).into_iter().flatten();
        let Some((_, times, latest)) = last.find(|(before, ..)| before == step) else {
            return Ok(());
        };
        if *times <= FREE || latest.plus(FORGOTTEN) <= now {
            return Ok(());
        }
        let due = latest.plus(Millis(FIRST.0 << (times - FREE).min(DOUBLINGS)));
        if now < due { Err(due) } else { Ok(()) }
    }

    /// It has begun.
    pub(super) fn began(&mut self, ip: &IpName, step: Step, now: Millis) {
        let last = self.last.entry(ip.clone()).or_default();
        last.retain(|(_, _, latest)| now < latest.plus(FORGOTTEN));
        match last.iter_mut().find(|(before, ..)| *before == step) {
            Some((_, times, latest)) => (*times, *latest) = (times.saturating_add(1), now),
            None => last.push((step, 1, now)),
        }
    }

    /// The IP is at rest, or gone.
    pub(super) fn rest(&mut self, ip: &IpName) {
        self.last.remove(ip);
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;
    use mooring_plan::names::{IpName, Millis};
    use mooring_plan::step::{Read, Step};

    fn run(steps: &[Step], from: Millis, to: Millis) -> usize {
        let (mut pace, ip) = (Pace::default(), IpName::from("a"));
        let (mut now, mut began) = (from, 0);
        while now < to {
            let step = steps[began % steps.len()].clone();
            match pace.check(&ip, &step, now) {
                Ok(()) => {
                    pace.began(&ip, step, now);
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
        let (mut pace, ip) = (Pace::default(), IpName::from("a"));
        for second in (0..100).step_by(5) {
            let now = Millis::seconds(second);
            assert_eq!(pace.check(&ip, &read("a"), now), Ok(()), "{second}");
            pace.began(&ip, read("a"), now);
        }
    }
}
