//! A part of a state that most transitions do not change: it is shared between states and hashed once.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A value that many states share.
#[derive(Debug)]
pub struct Shared<T> {
    hash: u64,
    value: Arc<T>,
}

impl<T: Hash> Shared<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self {
            hash: fingerprint(&value),
            value: Arc::new(value),
        }
    }

    /// Changes a copy of the value, and replaces the value by it.
    pub fn change<R>(&mut self, change: impl FnOnce(&mut T) -> R) -> R
    where
        T: Clone,
    {
        let mut value = T::clone(&self.value);
        let answer = change(&mut value);
        *self = Self::new(value);
        answer
    }
}

/// The hash of a value, the same in every process.
pub fn fingerprint(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self {
            hash: self.hash,
            value: Arc::clone(&self.value),
        }
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && (Arc::ptr_eq(&self.value, &other.value) || self.value == other.value)
    }
}

impl<T: Eq> Eq for Shared<T> {}
