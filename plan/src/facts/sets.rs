//! A map from keys to sets.

use alloc::collections::{BTreeMap, BTreeSet};

/// A map from keys to sets. A key with an empty set is not stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Sets<K, V>(BTreeMap<K, Entries<V>>);

/// The values of a key. Nearly all keys have one value, and a `BTreeSet` with one value uses the memory of eleven.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Entries<V> {
    One(V),
    /// At least two.
    Several(BTreeSet<V>),
}

impl<V: Ord> Entries<V> {
    fn iter(&self) -> impl Iterator<Item = &V> {
        let (one, several) = match self {
            Self::One(value) => (Some(value), None),
            Self::Several(values) => (None, Some(values)),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }

    fn with(self, value: V) -> Self {
        match self {
            Self::One(one) if one == value => Self::One(one),
            Self::One(one) => Self::Several(BTreeSet::from([one, value])),
            Self::Several(mut values) => {
                values.insert(value);
                Self::Several(values)
            }
        }
    }

    /// Removes a value; None if it was the only one.
    fn without(self, value: &V) -> Option<Self> {
        match self {
            Self::One(one) => (one != *value).then_some(Self::One(one)),
            Self::Several(mut values) => {
                values.remove(value);
                if values.len() > 1 {
                    return Some(Self::Several(values));
                }
                values.pop_first().map(Self::One)
            }
        }
    }
}

impl<K, V> Default for Sets<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, V: Ord> Sets<K, V> {
    pub(crate) fn insert(&mut self, key: K, value: V) {
        let entries = match self.0.remove(&key) {
            None => Entries::One(value),
            Some(entries) => entries.with(value),
        };
        self.0.insert(key, entries);
    }

    pub(crate) fn remove(&mut self, key: &K, value: &V) {
        if let Some((key, entries)) = self.0.remove_entry(key)
            && let Some(rest) = entries.without(value)
        {
            self.0.insert(key, rest);
        }
    }

    pub(crate) fn of<'a>(&'a self, key: &K) -> impl Iterator<Item = &'a V> + use<'a, K, V> {
        self.0.get(key).into_iter().flat_map(Entries::iter)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }

    pub(crate) fn count(&self, key: &K) -> usize {
        match self.0.get(key) {
            None => 0,
            Some(Entries::One(_)) => 1,
            Some(Entries::Several(values)) => values.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::{BTreeMap, BTreeSet};
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::Sets;

    proptest! {
        #[test]
        fn each_key_has_what_was_inserted_and_not_removed(
            changes in proptest::collection::vec((any::<bool>(), 0_u8..3, 0_u8..4), 0..60),
        ) {
            let (mut sets, mut plain) = (Sets::default(), BTreeMap::<u8, BTreeSet<u8>>::new());
            for (inserted, key, value) in changes {
                let values = plain.entry(key).or_default();
                if inserted {
                    sets.insert(key, value);
                    values.insert(value);
                } else {
                    sets.remove(&key, &value);
                    values.remove(&value);
                }
            }
            // The result equals a map to which the removed values were never added: a model compares states.
            let mut without = Sets::default();
            for (key, values) in &plain {
                prop_assert_eq!(sets.of(key).collect::<Vec<_>>(), values.iter().collect::<Vec<_>>());
                prop_assert_eq!(sets.count(key), values.len());
                for value in values {
                    without.insert(*key, *value);
                }
            }
            prop_assert!(sets.keys().eq(without.keys()));
            prop_assert_eq!(sets, without);
        }
    }
}
