//! The result of a decision about one state.

use alloc::vec::Vec;

use crate::step::{Call, Notice, Read, Step, Write};
use crate::time::Instant;

/// What to do next, before backoff is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Do this step. The time is when to decide again although nothing happens, if there is one.
    Do(Step, Option<Instant>),
    /// Do nothing until this time, unless something changes.
    At(Instant),
    /// Do nothing until something changes.
    Idle,
}

impl Next {
    pub(crate) fn read(read: Read) -> Self {
        Self::Do(Step::Read(read), None)
    }

    pub(crate) fn write(write: Write) -> Self {
        Self::Do(Step::Write(write), None)
    }

    pub(crate) fn call(call: Call) -> Self {
        Self::Do(Step::Call(call), None)
    }

    /// `self`, decided again no later than the time of `other`.
    pub(crate) fn no_later_than(self, other: &Self) -> Self {
        let Self::At(at) = *other else { return self };
        match self {
            Self::Idle => Self::At(at),
            Self::At(then) => Self::At(at.min(then)),
            Self::Do(step, then) => Self::Do(step, Some(then.map_or(at, |then| at.min(then)))),
        }
    }

    /// The step, and when to decide again.
    pub(crate) fn into_parts(self) -> (Option<Step>, Option<Instant>) {
        match self {
            Self::Do(step, at) => (Some(step), at),
            Self::At(at) => (None, Some(at)),
            Self::Idle => (None, None),
        }
    }

    /// `self` if it is a step, else `other`. Of two times, the earlier one counts.
    pub(crate) fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Do(..) => self,
            Self::Idle => other(),
            Self::At(_) => other().no_later_than(&self),
        }
    }
}

pub(crate) type Notices = Vec<Notice>;
