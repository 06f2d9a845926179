//! Which mutant is switched on. This file is part of every build of `plan` with mutants, as its module `mutant`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

/// The mutant that is switched on in the constants of this build; 0: none.
const FIXED: u32 = 0;
/// One more than the highest number.
const COUNT: usize = 1;

/// The environment variables have not been read yet.
const UNKNOWN: u32 = u32::MAX;
/// No mutant is switched on, and the reached mutants are written into a file.
const RECORDS: u32 = u32::MAX - 1;

static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
static RECORD: OnceLock<Option<Mutex<File>>> = OnceLock::new();

/// The mutant of `first..=last` that is switched on; 0: none of them.
#[inline]
pub(crate) fn which(first: u32, last: u32) -> u32 {
    let active = ACTIVE.load(Ordering::Relaxed);
    if active < RECORDS {
        return within(active, first, last);
    }
    seldom(first, last)
}

/// The same at compile time, for constants.
pub(crate) const fn fixed(first: u32, last: u32) -> u32 {
    within(FIXED, first, last)
}

const fn within(active: u32, first: u32, last: u32) -> u32 {
    if first <= active && active <= last {
        active
    } else {
        0
    }
}

#[cold]
fn seldom(first: u32, last: u32) -> u32 {
    let record = RECORD.get_or_init(|| {
        let path = std::env::var_os("MOORING_MUTANTS_REACHED")?;
        let file = OpenOptions::new().append(true).create(true).open(path);
        file.ok().map(Mutex::new)
    });
    let Some(file) = record else {
        let active = std::env::var("MOORING_MUTANT").ok();
        let active = active.and_then(|id| id.parse().ok()).unwrap_or(0);
        ACTIVE.store(active, Ordering::Relaxed);
        return within(active, first, last);
    };
    for id in first..=last {
        let Some(reached) = REACHED.get(id as usize) else {
            continue;
        };
        if !reached.swap(true, Ordering::Relaxed)
            && let Ok(mut file) = file.lock()
        {
            let _ = file.write_all(&id.to_le_bytes());
        }
    }
    0
}

/// An iterator, or its replacement.
pub(crate) fn instead<I: Iterator>(other: Option<Option<I::Item>>, iterator: I) -> Instead<I> {
    match other {
        None => Instead::Original(iterator),
        Some(item) => Instead::Other(item),
    }
}

/// The iterator that [`instead`] returns.
pub(crate) enum Instead<I: Iterator> {
    Original(I),
    Other(Option<I::Item>),
}

impl<I: Iterator> Iterator for Instead<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        match self {
            Self::Original(iterator) => iterator.next(),
            Self::Other(item) => item.take(),
        }
    }
}
