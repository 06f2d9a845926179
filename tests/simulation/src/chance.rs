//! A random number generator that returns the same numbers for a seed on every machine and with every library version.

use std::time::Duration;

/// A stream of numbers (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The stream of a seed for one purpose, so that the numbers of one part do not depend on other parts. Another text
    /// for the purpose leads to other numbers.
    #[must_use]
    pub fn new(seed: u64, purpose: &str) -> Self {
        let mixed = purpose
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        let mut chance = Self(seed ^ mixed);
        chance.draw();
        chance
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `from` (inclusive) to `to` (exclusive).
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.draw() % to.saturating_sub(from).max(1)
    }

    /// True with a probability of `often` per thousand.
    pub fn permille(&mut self, often: u64) -> bool {
        self.draw() % 1000 < often
    }

    /// True with a probability of one in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.draw().is_multiple_of(n.max(1))
    }

    /// A random element.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.between(0, of.len() as u64)).unwrap_or_default();
        of.get(index)
    }

    /// A random length of time in milliseconds.
    pub fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(self.between(from, to))
    }
}
