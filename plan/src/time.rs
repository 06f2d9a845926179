//! Time for decisions: a moment is an [`Instant`], a length of time is a [`Duration`]. This crate has no clock: `now`
//! is an argument.

use core::time::Duration;

/// A moment, in whole milliseconds since the start of the caller's monotonic clock. Each process has a clock of
/// its own: moments of two processes are never compared.
///
/// Arithmetic saturates, at [`Instant::START`] and at [`Instant::NEVER`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The start of the clock: no moment is earlier.
    pub const START: Self = Self(0);
    /// The last possible moment: it is never reached.
    pub const NEVER: Self = Self(u64::MAX);

    /// The moment that is this number of milliseconds after the start of the clock.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// The moment that is this number of seconds after the start of the clock.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Milliseconds since the start of the clock.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The moment that is this much later; [`Instant::NEVER`] on overflow. Fractions of a millisecond are dropped.
    #[must_use]
    pub const fn plus(self, length: Duration) -> Self {
        Self(self.0.saturating_add(millis(length)))
    }

    /// The time since `earlier`; zero if `earlier` is in the future.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// A length in whole milliseconds, rounded down; `u64::MAX` if it is longer.
#[must_use]
pub(crate) const fn millis(length: Duration) -> u64 {
    length
        .as_secs()
        .saturating_mul(1000)
        .saturating_add(length.subsec_millis() as u64)
}
