//! Our condition on each pod that the watch shows, as far as a write of it needs to know it: its status, and since when.
//!
//! The `False` of a loser stands between a claim and the call of EC2. The UID in the patch says whose it is, so that the
//! pod need not be read first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::api::{DynamicObject, ObjectMeta};
use mooring_plan::names::{PodUid, ResourceVersion};
use serde_json::{Value, json};

use crate::api::{names, read};

/// The newest of each, by UID.
#[derive(Clone, Debug, Default)]
pub(super) struct GateCache(Arc<Mutex<BTreeMap<String, Shown>>>);

/// A version of a pod.
#[derive(Clone, Debug)]
struct Shown {
    version: ResourceVersion,
    /// Our condition; None: it has none.
    gate: Option<Gate>,
}

#[derive(Clone, Debug)]
struct Gate {
    status: Box<str>,
    since: Option<Box<str>>,
}

impl GateCache {
    /// The watch shows it. The watch may lag behind a write.
    pub(super) fn see(&self, pod: &DynamicObject) {
        if let Some((uid, shown)) = shown(pod) {
            let mut all = self.all();
            if all
                .get(uid)
                .is_none_or(|known| known.version < shown.version)
            {
                all.insert(uid.to_owned(), shown);
            }
        }
    }

    /// A write's answer shows it. The watch may have said before that it is gone.
    pub(super) fn wrote(&self, pod: &DynamicObject) {
        if let Some((uid, shown)) = shown(pod)
            && let Some(known) = self.all().get_mut(uid)
            && known.version < shown.version
        {
            *known = shown;
        }
    }

    /// It is gone.
    pub(super) fn forget(&self, uid: &str) {
        self.all().remove(uid);
    }

    /// Versions begin anew: none of those that are known says which is newer.
    pub(super) fn forget_all(&self) {
        self.all().clear();
    }

    /// The pod with its UID and our condition, and nothing else.
    pub(super) fn of(&self, uid: &PodUid) -> Option<DynamicObject> {
        let shown = self.all().get(uid.as_str())?.clone();
        let condition = |gate: Gate| {
            json!({
                "type": names::ATTACHED_GATE,
                "status": gate.status,
                "lastTransitionTime": gate.since,
            })
        };
        let conditions: Vec<Value> = shown.gate.map(condition).into_iter().collect();
        Some(DynamicObject {
            types: None,
            metadata: ObjectMeta {
                uid: Some(uid.to_string()),
                ..ObjectMeta::default()
            },
            data: json!({"status": {"conditions": conditions}}),
        })
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Shown>> {
        // Each change is one insertion or removal: a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The UID of a pod, and what is kept of it.
fn shown(pod: &DynamicObject) -> Option<(&str, Shown)> {
    let uid = pod.metadata.uid.as_deref()?;
    let version = read::version(pod.metadata.resource_version.as_deref()?).ok()?;
    let text = |condition: &Value, field: &str| {
        let text = condition.get(field)?.as_str()?;
        Some(Box::from(text))
    };
    let conditions = pod
        .data
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let ours = conditions.into_iter().flatten().find(|condition| {
        condition.get("type").and_then(Value::as_str) == Some(names::ATTACHED_GATE)
    });
    let gate = ours.and_then(|condition| {
        Some(Gate {
            status: text(condition, "status")?,
            since: text(condition, "lastTransitionTime"),
        })
    });
    Some((uid, Shown { version, gate }))
}

#[cfg(test)]
mod tests {
    use kube::api::DynamicObject;
    use mooring_plan::names::PodUid;
    use serde_json::{Value, json};

    use super::GateCache;

    fn pod(version: &str, status: &str) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "uid": "uid-1", "resourceVersion": version},
            "status": {"conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "other"},
                {"type": "ip.wgtwo.com/attached", "status": status, "lastTransitionTime": format!("at {version}")},
            ]},
        }))
        .unwrap()
    }

    fn since(cache: &GateCache) -> Option<Value> {
        let pod = cache.of(&PodUid::from("uid-1"))?;
        let time = pod
            .data
            .pointer("/status/conditions/0/lastTransitionTime")?;
        Some(time.clone())
    }

    #[test]
    fn an_older_version_takes_no_newer_ones_place() {
        let cache = GateCache::default();
        cache.see(&pod("7", "False"));
        cache.wrote(&pod("9", "True"));
        cache.see(&pod("8", "False"));
        cache.wrote(&pod("8", "False"));
        assert_eq!(since(&cache), Some(json!("at 9")));
    }

    #[test]
    fn the_answer_to_a_write_brings_no_pod_back() {
        let cache = GateCache::default();
        cache.see(&pod("7", "False"));
        cache.forget("uid-1");
        cache.wrote(&pod("8", "False"));
        assert_eq!(since(&cache), None);
    }
}
