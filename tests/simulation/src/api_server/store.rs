//! The objects with one version counter, and the history of all changes.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::kinds::Kind;

/// An object at one version.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) value: Arc<Value>,
    text: OnceLock<String>,
    item: OnceLock<String>,
}

impl Object {
    pub(super) fn new(value: Value) -> Arc<Self> {
        Arc::new(Self {
            value: Arc::new(value),
            text: OnceLock::new(),
            item: OnceLock::new(),
        })
    }

    /// The object as JSON. It is computed once for all watches.
    pub(super) fn text(&self) -> &str {
        self.text.get_or_init(|| self.value.to_string())
    }

    /// The object as an item of a list, in which only custom kinds have `kind` and `apiVersion`.
    pub(super) fn item(&self, kind: &Kind) -> &str {
        if kind.schema.is_some() {
            return self.text();
        }
        self.item.get_or_init(|| {
            let fields = self.value.as_object().into_iter().flatten();
            let kept = fields.filter(|(name, _)| *name != "kind" && *name != "apiVersion");
            let kept: BTreeMap<_, _> = kept.collect();
            serde_json::to_string(&kept).expect("it is JSON")
        })
    }

    /// The same object with a later version. A watch shows it when an object does not match the selector any more.
    pub(super) fn at(&self, version: u64) -> Arc<Self> {
        let mut value = Value::clone(&self.value);
        value["metadata"]["resourceVersion"] = json!(version.to_string());
        Self::new(value)
    }
}

/// The key of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    resource: (&'static str, &'static str),
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Key {
    pub(super) fn new(kind: &Kind, namespace: &str, name: &str) -> Self {
        Self {
            resource: (kind.group, kind.plural),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Whether it is of this kind and in this namespace. An empty namespace matches all.
    pub(super) fn is_of(&self, kind: &Kind, namespace: &str) -> bool {
        self.resource == (kind.group, kind.plural)
            && (namespace.is_empty() || self.namespace == namespace)
    }
}

/// One change of one object.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) version: u64,
    pub(super) at: Instant,
    pub(super) key: Key,
    pub(super) before: Option<Arc<Object>>,
    pub(super) after: Option<Arc<Object>>,
}

/// The present objects, and the history of changes.
#[derive(Debug)]
pub(super) struct Store {
    version: u64,
    objects: BTreeMap<Key, Arc<Object>>,
    changes: Vec<Change>,
    /// The oldest version in the history.
    oldest: u64,
    /// The sum by which versions were set back.
    set_back: u64,
}

/// A backup of the store.
#[derive(Clone, Debug)]
pub struct Snapshot {
    version: u64,
    objects: BTreeMap<Key, Arc<Object>>,
}

impl Snapshot {
    /// The backup without the objects of a resource. Watches do not show this change.
    #[must_use]
    pub fn without(mut self, resource: &str) -> Self {
        self.objects.retain(|key, _| key.resource.1 != resource);
        self.version += 1;
        self
    }

    /// The backup with a version that no earlier change has reached, as after a correct restore.
    #[must_use]
    pub fn ahead(mut self, version: u64) -> Self {
        self.version = self.version.max(version + 1);
        self
    }

    /// The objects of a resource.
    #[must_use]
    pub fn list(&self, resource: &str) -> Vec<Value> {
        let of = self.objects.iter();
        of.filter(|(key, _)| key.resource.1 == resource)
            .map(|(_, object)| Value::clone(&object.value))
            .collect()
    }
}

impl Store {
    pub(super) const fn new() -> Self {
        Self {
            // Version 0 means "any" in a request.
            version: 1,
            objects: BTreeMap::new(),
            changes: Vec::new(),
            oldest: 1,
            set_back: 0,
        }
    }

    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    /// The present place in the order of all writes. Unlike a version it is never set back.
    pub(super) const fn order(&self) -> u64 {
        self.version + self.set_back
    }

    pub(super) const fn oldest(&self) -> u64 {
        self.oldest
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    /// Stores an object with the next version.
    pub(super) fn put(&mut self, key: Key, mut value: Value) -> Arc<Object> {
        self.version += 1;
        value["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let after = Object::new(value);
        let before = self.objects.insert(key.clone(), Arc::clone(&after));
        self.changed(key, before, Some(Arc::clone(&after)));
        after
    }

    /// Removes an object, with the next version.
    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(before) = self.objects.remove(key) {
            self.version += 1;
            self.changed(key.clone(), Some(before), None);
        }
    }

    fn changed(&mut self, key: Key, before: Option<Arc<Object>>, after: Option<Arc<Object>>) {
        self.changes.push(Change {
            version: self.version,
            at: Instant::now(),
            key,
            before,
            after,
        });
    }

    /// The present objects of a kind.
    pub(super) fn of(
        &self,
        kind: &Kind,
        namespace: &str,
    ) -> impl Iterator<Item = (&Key, &Arc<Object>)> {
        let first = Key::new(kind, "", "");
        self.objects
            .range((Bound::Included(first), Bound::Unbounded))
            .take_while(|(key, _)| key.is_of(kind, ""))
            .filter(move |(key, _)| key.is_of(kind, namespace))
    }

    /// The objects of a kind at a version.
    pub(super) fn list(
        &self,
        kind: &Kind,
        namespace: &str,
        version: u64,
    ) -> BTreeMap<Key, Arc<Object>> {
        let mut listed: BTreeMap<Key, Arc<Object>> = self
            .of(kind, namespace)
            .map(|(key, object)| (key.clone(), Arc::clone(object)))
            .collect();
        let later = self
            .changes
            .iter()
            .rev()
            .take_while(|change| change.version > version);
        for change in later.filter(|change| change.key.is_of(kind, namespace)) {
            match &change.before {
                Some(before) => listed.insert(change.key.clone(), Arc::clone(before)),
                None => listed.remove(&change.key),
            };
        }
        listed
    }

    /// The changes after a version.
    pub(super) fn changes_after(&self, version: u64) -> &[Change] {
        let start = self
            .changes
            .partition_point(|change| change.version <= version);
        self.changes.get(start..).unwrap_or_default()
    }

    /// Drops the history except the last changes.
    pub(super) fn compact(&mut self, keep: usize) {
        let surplus = self.changes.len().saturating_sub(keep);
        if let Some(last) = self.changes.drain(..surplus).next_back() {
            self.oldest = last.version;
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            version: self.version,
            objects: self.objects.clone(),
        }
    }

    /// Restores an old state: later versions will be used again.
    pub(super) fn restore(&mut self, snapshot: Snapshot) {
        self.set_back += (self.version + 1).saturating_sub(snapshot.version);
        self.version = snapshot.version;
        self.objects = snapshot.objects;
        self.changes.clear();
        self.oldest = self.version;
    }
}
