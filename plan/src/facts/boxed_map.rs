//! A map for large values.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, btree_map};

/// A map with boxed values. If keys are inserted in order, as lists are, the nodes of a `BTreeMap` stay half empty;
/// with large values in the nodes this would need twice the memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BoxedMap<K, V>(BTreeMap<K, Box<V>>);

impl<K, V> Default for BoxedMap<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, V> BoxedMap<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.0.get(key).map(Box::as_ref)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.get_mut(key).map(Box::as_mut)
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let before = self.0.insert(key, Box::new(value));
        before.map(|before| *before)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.0.remove(key).map(|gone| *gone)
    }

    pub(crate) fn keys(&self) -> btree_map::Keys<'_, K, Box<V>> {
        self.0.keys()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.values().map(Box::as_ref)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.values_mut().map(Box::as_mut)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value.as_ref()))
    }

    #[cfg(feature = "timestamps")]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (key, value.as_mut()))
    }
}

impl<K: Ord, V: Default> BoxedMap<K, V> {
    /// The value; the default is inserted if there is none.
    pub(crate) fn get_or_default(&mut self, key: K) -> &mut V {
        self.0.entry(key).or_default()
    }
}
