//! What a look at one state leads to.

use alloc::vec::Vec;

use crate::step::{Call, Notice, Read, Step, Write};
use crate::time::Instant;

/// What follows, before backoff is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This step. If it has to wait, something else may be due before it.
    Do(Step, Option<Instant>),
    /// Nothing before then, unless something happens.
    At(Instant),
    /// Nothing, until something happens.
    Rest,
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

    /// This, and asked again no later than `other` wants to be.
    pub(crate) fn no_later_than(self, other: &Self) -> Self {
        let Self::At(at) = *other else { return self };
        match self {
            Self::Rest => Self::At(at),
            Self::At(then) => Self::At(at.min(then)),
            Self::Do(step, then) => Self::Do(step, Some(then.map_or(at, |then| at.min(then)))),
        }
    }

    /// This, or else what `other` says; of two times the earlier.
    pub(crate) fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Do(..) => self,
            Self::Rest => other(),
            Self::At(_) => other().no_later_than(&self),
        }
    }
}

pub(crate) type Notices = Vec<Notice>;
