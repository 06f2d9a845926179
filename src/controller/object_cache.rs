//! The newest version of each `IP` that this process has seen, whole.
//!
//! A status write is made of the object that was decided from, to keep what other versions wrote into
//! it. That one is nearly always at hand; reading it again would stand between a decision and EC2. It is kept as text:
//! a tree of JSON values takes several times the memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::api::DynamicObject;
use mooring_plan::names::ResourceVersion;

use crate::api::read;

/// The newest of each, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectCache(Arc<Mutex<Objects>>);

/// Objects as JSON, by name.
type Objects = BTreeMap<String, (ResourceVersion, Box<[u8]>)>;

impl ObjectCache {
    /// A watch, or a write's answer, shows it. The watch may lag behind a write.
    pub(super) fn see(&self, object: &DynamicObject) {
        let meta = &object.metadata;
        let version = meta.resource_version.as_deref().map(read::version);
        let (Some(name), Some(Ok(version))) = (&meta.name, version) else {
            return;
        };
        let mut all = self.all();
        // Without its last finalizer it is gone, and the watch may have said so before.
        if meta.deletion_timestamp.is_some() && meta.finalizers.as_ref().is_none_or(Vec::is_empty) {
            all.remove(name);
            return;
        }
        if all.get(name).is_none_or(|(known, _)| *known < version) {
            match serde_json::to_vec(object) {
                Ok(text) => all.insert(name.clone(), (version, text.into_boxed_slice())),
                // It is read again when it is needed.
                Err(_) => all.remove(name),
            };
        }
    }

    /// It is gone.
    pub(super) fn forget(&self, name: &str) {
        self.all().remove(name);
    }

    /// Versions were set back: the known versions no longer tell which object is newer.
    pub(super) fn forget_all(&self) {
        self.all().clear();
    }

    /// The object, if it is that very version.
    pub(super) fn at(&self, name: &str, version: ResourceVersion) -> Option<DynamicObject> {
        let all = self.all();
        let (known, text) = all.get(name)?;
        let known = (*known == version).then(|| serde_json::from_slice(text));
        known?.ok()
    }

    fn all(&self) -> MutexGuard<'_, Objects> {
        // Each change is one insertion or removal: a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;
    use kube::api::ApiResource;

    fn ip(version: &str) -> DynamicObject {
        let mut object = DynamicObject::new("partner", &ApiResource::erase::<crate::api::Ip>(&()));
        object.metadata.resource_version = Some(version.to_owned());
        object
    }

    #[test]
    fn only_the_very_version_is_given_and_an_older_one_takes_no_newer_ones_place() {
        let latest = ObjectCache::default();
        latest.see(&ip("7"));
        latest.see(&ip("5"));
        assert!(latest.at("partner", ResourceVersion(7)).is_some());
        assert!(latest.at("partner", ResourceVersion(5)).is_none());
        latest.forget("partner");
        assert!(latest.at("partner", ResourceVersion(7)).is_none());
    }

    #[test]
    fn the_answer_to_taking_the_last_finalizer_off_brings_nothing_back() {
        let latest = ObjectCache::default();
        let mut last = ip("8");
        last.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        latest.see(&last);
        assert!(latest.at("partner", ResourceVersion(8)).is_none());
        last.metadata.finalizers = Some(vec!["another".to_owned()]);
        latest.see(&last);
        assert!(latest.at("partner", ResourceVersion(8)).is_some());
    }
}
