//! Writes of a pod: our condition, and our label.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::DynamicObject;
use mooring_plan::names::{IpName, PodKey, PodUid, ResourceVersion};
use mooring_plan::step::GateWrite;
use serde_json::{Value, json};

use super::Effects;
use super::patch::{Guard, PatchOutcome, Subresource, patch, patch_known};
use crate::api::names;
use crate::controller::apis::Apis;
use crate::controller::error::Failure;

impl Effects {
    /// Writes our condition.
    pub(super) async fn gate(&self, gate: &GateWrite) -> Result<PatchOutcome, Failure> {
        write(&self.apis, gate).await
    }

    /// Puts our label on a pod, or takes label and UID off: the pod asks for nothing any more. Through the status,
    /// where the API server takes metadata as well: so no right to change images of pods is needed.
    pub(super) async fn label_pod(
        &self,
        pod: &PodKey,
        uid: &PodUid,
        label: Option<&IpName>,
    ) -> Result<PatchOutcome, Failure> {
        let guard = Guard {
            uid: Some(uid.as_str()),
            version: None,
        };
        let change = match label {
            Some(ip) => json!({"metadata": {"labels": {names::IP_LABEL: ip.as_str()}}}),
            None => json!({"metadata": {
                "labels": {names::IP_LABEL: null},
                "annotations": {names::IP_UID_ANNOTATION: null, names::DENIED_AT_ANNOTATION: null},
            }}),
        };
        let pods = self.apis.pods(&pod.namespace);
        let object = format!("the label of pod {pod}");
        patch(
            &pods,
            &object,
            &pod.name,
            guard,
            Subresource::Status,
            |_| Ok(Some(change)),
        )
        .await
    }
}

/// Writes our condition. It is sent although nothing in it may be new: the pod's version is what
/// has to change.
async fn write(apis: &Apis, gate: &GateWrite) -> Result<PatchOutcome, Failure> {
    let guard = Guard {
        uid: Some(gate.uid.as_str()),
        version: gate.version,
    };
    let pods = apis.pods(&gate.pod.namespace);
    let object = format!("the condition of pod {}", gate.pod);
    let known = match gate.version {
        Some(version) => to_admit(gate, version),
        // The UID alone guards it: whatever version the watch shows tells since when it is so.
        None => apis.gates().of(&gate.uid),
    };
    let outcome = patch_known(
        known,
        &pods,
        &object,
        &gate.pod.name,
        guard,
        Subresource::StatusByKey,
        |pod| {
            let status = if gate.status { "True" } else { "False" };
            let since = since(pod, status).unwrap_or_else(|| json!(Time(Timestamp::now())));
            let mut patch = json!({"status": {"conditions": [{
                "type": names::ATTACHED_GATE,
                "status": status,
                "reason": gate.reason.as_str(),
                "message": gate.message,
                "lastTransitionTime": since,
            }]}});
            if let (Some(version), Value::Object(fields)) = (gate.denied_at, &mut patch) {
                let annotations = json!({names::DENIED_AT_ANNOTATION: version.to_string()});
                fields.insert("metadata".to_owned(), json!({"annotations": annotations}));
            }
            Ok(Some(patch))
        },
    )
    .await?;
    if let PatchOutcome::Done(pod) = &outcome {
        apis.gates().wrote(pod);
    }
    Ok(outcome)
}

/// The pod of a `True`, without a read: version and UID guard the write, and our condition was not `True` before.
fn to_admit(gate: &GateWrite, version: ResourceVersion) -> Option<DynamicObject> {
    let metadata = ObjectMeta {
        uid: Some(gate.uid.to_string()),
        resource_version: Some(version.to_string()),
        ..ObjectMeta::default()
    };
    gate.status.then_some(DynamicObject {
        types: None,
        metadata,
        data: Value::Null,
    })
}

/// Since when our condition has had this status; None: it has not.
fn since(pod: &DynamicObject, status: &str) -> Option<Value> {
    let conditions = pod.data.get("status")?.get("conditions")?.as_array()?;
    let ours = conditions.iter().find(|condition| {
        condition.get("type").and_then(Value::as_str) == Some(names::ATTACHED_GATE)
    })?;
    (ours.get("status")?.as_str() == Some(status))
        .then(|| ours.get("lastTransitionTime").cloned())?
        .filter(|since| !since.is_null())
}

#[cfg(test)]
mod tests;
