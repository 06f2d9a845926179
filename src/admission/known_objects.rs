//! The cached objects of one kind.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use tokio::sync::watch;

/// The objects of one kind by name, and whether a list of them was complete.
#[derive(Debug)]
pub(super) struct KnownObjects<T> {
    objects: RwLock<Objects<T>>,
    filled: watch::Sender<bool>,
}

#[derive(Debug)]
struct Objects<T> {
    known: HashMap<String, Arc<T>>,
    /// Objects from a list that is not complete yet. An aborted list changes nothing.
    listing: HashMap<String, Arc<T>>,
}

impl<T> Default for KnownObjects<T> {
    fn default() -> Self {
        Self {
            objects: RwLock::new(Objects {
                known: HashMap::new(),
                listing: HashMap::new(),
            }),
            filled: watch::Sender::new(false),
        }
    }
}

impl<T> KnownObjects<T> {
    /// Applies a watch event. While an object cannot be read, its former version is kept.
    pub(super) fn see<E: std::error::Error>(
        &self,
        event: &Event<DynamicObject>,
        read: impl Fn(&DynamicObject) -> Result<T, E>,
    ) {
        match event {
            Event::Init => self.write().listing.clear(),
            Event::InitApply(object) => {
                let mut objects = self.write();
                let Some(name) = object.metadata.name.as_deref() else {
                    return;
                };
                let now = readable(object, read).or_else(|| objects.known.get(name).cloned());
                if let Some(now) = now {
                    objects.listing.insert(name.to_owned(), now);
                }
            }
            Event::InitDone => {
                let mut objects = self.write();
                objects.known = std::mem::take(&mut objects.listing);
                drop(objects);
                self.filled.send_replace(true);
            }
            Event::Apply(object) => {
                if let (Some(name), Some(now)) = (&object.metadata.name, readable(object, read)) {
                    self.write().known.insert(name.clone(), now);
                }
            }
            Event::Delete(object) => {
                if let Some(name) = &object.metadata.name {
                    self.write().known.remove(name);
                }
            }
        }
    }

    /// The object of this name.
    pub(super) fn get(&self, name: &str) -> Option<Arc<T>> {
        self.read().known.get(name).cloned()
    }

    /// The objects for which `wanted` is true, in any order.
    pub(super) fn those(&self, wanted: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let objects = self.read();
        let known = objects.known.values();
        known.filter(|object| wanted(object)).cloned().collect()
    }

    /// Returns after a first list was complete.
    pub(super) async fn filled(&self) {
        // This fails only if the sender is dropped, and `self` owns the sender.
        let _ = self.filled.subscribe().wait_for(|filled| *filled).await;
    }

    fn read(&self) -> RwLockReadGuard<'_, Objects<T>> {
        // Each change is one insertion, removal or swap, so a poisoned lock still protects consistent data.
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Objects<T>> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The object, or None if it cannot be read.
pub(super) fn readable<T, E: std::error::Error>(
    object: &DynamicObject,
    read: impl Fn(&DynamicObject) -> Result<T, E>,
) -> Option<Arc<T>> {
    let read = read(object).map_err(|error| {
        let name = object.metadata.name.as_deref().unwrap_or_default();
        tracing::warn!(name, %error, "an object cannot be read");
    });
    read.ok().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use kube::api::ApiResource;

    use super::*;

    fn object(name: &str) -> DynamicObject {
        DynamicObject::new(name, &ApiResource::erase::<crate::api::Ip>(&()))
    }

    /// Objects that are known by the first letter of their names, and cannot be read where that is x.
    fn see(known: &KnownObjects<char>, event: &Event<DynamicObject>) {
        known.see(event, |object| {
            let name = object.metadata.name.as_deref().unwrap();
            let first = name.chars().next().unwrap();
            if object.data["broken"] == true {
                return Err(std::fmt::Error);
            }
            Ok(first)
        });
    }

    fn broken(name: &str) -> DynamicObject {
        let mut object = object(name);
        object.data = serde_json::json!({"broken": true});
        object
    }

    fn list(known: &KnownObjects<char>, objects: impl IntoIterator<Item = DynamicObject>) {
        see(known, &Event::Init);
        for object in objects {
            see(known, &Event::InitApply(object));
        }
        see(known, &Event::InitDone);
    }

    fn all(known: &KnownObjects<char>) -> String {
        let mut all: Vec<char> = known.those(|_| true).iter().map(|one| **one).collect();
        all.sort_unstable();
        all.into_iter().collect()
    }

    #[test]
    fn a_complete_list_removes_absent_objects_and_a_broken_list_changes_nothing() {
        let known = KnownObjects::default();
        list(&known, [object("a"), object("b")]);
        see(&known, &Event::Init);
        see(&known, &Event::InitApply(object("c")));
        assert_eq!(all(&known), "ab");
        list(&known, [object("b")]);
        assert_eq!(all(&known), "b");
    }

    #[test]
    fn an_object_appears_and_goes() {
        let known = KnownObjects::default();
        see(&known, &Event::Apply(object("a")));
        assert_eq!(known.get("a").as_deref(), Some(&'a'));
        see(&known, &Event::Delete(object("a")));
        assert_eq!(known.get("a"), None);
    }

    #[test]
    fn one_that_cannot_be_read_stays_as_it_was_known_and_hides_no_other() {
        let known = KnownObjects::default();
        list(&known, [object("a"), object("b")]);
        see(&known, &Event::Apply(broken("a")));
        assert_eq!(all(&known), "ab");
        list(&known, [broken("a"), object("b"), broken("c")]);
        assert_eq!(all(&known), "ab");
    }

    #[test]
    fn it_is_filled_once_a_list_was_complete() {
        let known = KnownObjects::default();
        see(&known, &Event::Init);
        see(&known, &Event::InitApply(object("a")));
        assert_eq!(known.filled().now_or_never(), None);
        see(&known, &Event::InitDone);
        assert_eq!(known.filled().now_or_never(), Some(()));
    }
}
