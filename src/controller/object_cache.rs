//! A cache of the newest known version of each `IP`: only the parts that a write needs in addition to the decision.
//!
//! A write keeps the times of conditions and the entries of others in lists. With the cache the object need not be read
//! again between the decision and the call to EC2. Entries are stored as JSON text, because a tree of JSON values takes
//! several times the memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::api::{DynamicObject, ObjectMeta};
use mooring_plan::names::ResourceVersion;
use serde_json::{Map, Value, json};

use crate::api::conditions::{ATTACHED, PROGRAMMED, READY, RESERVED, VERIFIED};
use crate::api::read;

/// The fields of the status that a write reads.
const STATUS_FIELDS: [&str; 3] = ["conditions", "lastMoveTime", "observedGeneration"];
/// The conditions whose messages each write replaces.
const OURS: [&str; 5] = [RESERVED, ATTACHED, PROGRAMMED, VERIFIED, READY];

/// The newest known version of each `IP`, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectCache(Arc<Mutex<Objects>>);

/// Parts of objects as JSON, by name.
type Objects = BTreeMap<String, (ResourceVersion, Box<[u8]>)>;

impl ObjectCache {
    /// Stores an object from a watch or from the answer to a write, if it is newer. The watch can lag behind a write.
    pub(super) fn see(&self, object: &DynamicObject) {
        let meta = &object.metadata;
        let version = meta.resource_version.as_deref().map(read::version);
        let (Some(name), Some(Ok(version))) = (&meta.name, version) else {
            return;
        };
        let mut all = self.all();
        // An object that is being deleted without a finalizer is gone. The watch may have reported this before.
        if meta.deletion_timestamp.is_some() && meta.finalizers.as_ref().is_none_or(Vec::is_empty) {
            all.remove(name);
            return;
        }
        if all.get(name).is_none_or(|(known, _)| *known < version) {
            match serde_json::to_vec(&needed(object)) {
                Ok(text) => all.insert(name.clone(), (version, text.into_boxed_slice())),
                // The object is read again when it is needed.
                Err(_) => all.remove(name),
            };
        }
    }

    /// Removes an object that is gone.
    pub(super) fn forget(&self, name: &str) {
        self.all().remove(name);
    }

    /// Removes all objects after a restoration of the store: known versions do not show any more which object is newer.
    pub(super) fn forget_all(&self) {
        self.all().clear();
    }

    /// The parts of the object that a write needs. None: the cache does not have this version.
    pub(super) fn at(&self, name: &str, version: ResourceVersion) -> Option<DynamicObject> {
        let all = self.all();
        let (known, text) = all.get(name)?;
        let known = (*known == version).then(|| serde_json::from_slice(text));
        known?.ok()
    }

    fn all(&self) -> MutexGuard<'_, Objects> {
        // Each change is one insertion or removal, so a poisoned lock still protects consistent data.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The object with only the fields that a write reads.
fn needed(object: &DynamicObject) -> DynamicObject {
    let meta = &object.metadata;
    let status = match object.data.get("status") {
        Some(Value::Object(status)) => Value::Object(needed_status(status)),
        other => other.cloned().unwrap_or_default(),
    };
    DynamicObject {
        types: None,
        metadata: ObjectMeta {
            uid: meta.uid.clone(),
            finalizers: meta.finalizers.clone(),
            ..ObjectMeta::default()
        },
        data: json!({ "status": status }),
    }
}

fn needed_status(status: &Map<String, Value>) -> Map<String, Value> {
    let fields = status.iter();
    let mut needed: Map<String, Value> = fields
        .filter(|(field, _)| STATUS_FIELDS.contains(&field.as_str()))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    let conditions = needed.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        let is_ours = |kind: &str| OURS.contains(&kind);
        if condition
            .get("type")
            .and_then(Value::as_str)
            .is_some_and(is_ours)
            && let Value::Object(condition) = condition
        {
            condition.remove("message");
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;
    use kube::api::ApiResource;
    use mooring_plan::objects::{Condition, IpStatus};
    use mooring_plan::reason::Reason;
    use mooring_plan::step::Moved;

    use crate::api::read::ip_status_patch;

    fn ip(version: &str) -> DynamicObject {
        let mut object = DynamicObject::new("partner", &ApiResource::erase::<crate::api::Ip>(&()));
        object.metadata.resource_version = Some(version.to_owned());
        object
    }

    #[test]
    fn a_status_made_of_what_is_kept_equals_one_made_of_the_whole_object() {
        let condition = |kind: &str, message: &str| {
            json!({
                "type": kind, "status": "True", "reason": "Reserved", "message": message,
                "observedGeneration": 3, "lastTransitionTime": "2026-01-02T03:04:05Z",
            })
        };
        let mut whole = ip("7");
        whole.metadata.uid = Some("u-1".to_owned());
        whole.metadata.finalizers = Some(vec!["another".to_owned()]);
        whole.data = json!({
            "spec": {"address": "203.0.113.7"},
            "status": {
                "address": "203.0.113.7", "claimed": true, "lastMoveTime": "2026-01-02T03:04:05Z", "observedGeneration": 3,
                "conditions": [condition("Reserved", "ours"), condition("Audited", "of another"), condition("Ready", "ours")],
            },
        });
        let latest = ObjectCache::default();
        latest.see(&whole);
        let kept = latest.at("partner", ResourceVersion(7)).unwrap();
        let reserved = Condition {
            status: true,
            reason: Reason::Reserved,
            message: "new".to_owned(),
            generation: 4,
        };
        let mut status = IpStatus::default();
        status.conditions.reserved = Some(reserved);
        let now = Time(Timestamp::UNIX_EPOCH);
        let patch = |object: &DynamicObject| {
            let before = serde_json::from_value(object.data["status"].clone()).unwrap();
            ip_status_patch(&status, &before, Moved::No, &now).unwrap()
        };
        assert_eq!(patch(&kept), patch(&whole));
        assert!(patch(&kept).to_string().contains("of another"));
        assert_eq!(kept.metadata.uid, whole.metadata.uid);
        assert_eq!(kept.metadata.finalizers, whole.metadata.finalizers);
        assert!(kept.data.pointer("/spec").is_none());
    }

    #[test]
    fn only_the_latest_version_is_returned() {
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
