//! Writes of a pod: the condition, the label and the annotations of Mooring.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mooring_plan::names::{IpName, PodKey, PodUid};
use mooring_plan::step::GateWrite;
use serde_json::{Value, json};

use super::Effects;
use super::patch::{Guard, PatchOutcome, Subresource, patch, send};
use crate::api::names;
use crate::controller::apis::Apis;
use crate::controller::error::Failure;

impl Effects {
    /// Writes the condition of Mooring.
    pub(super) async fn gate(&self, gate: &GateWrite) -> Result<PatchOutcome, Failure> {
        write(&self.apis, gate).await
    }

    /// Adds the label of Mooring to a pod, or removes label and UID if the pod does not ask for an IP any more. It
    /// writes the subresource `status`, which accepts metadata too, so that no right to change pod specs is needed.
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

/// Writes the condition of Mooring. It is sent even if it is unchanged, because the resourceVersion of the pod has to
/// change.
async fn write(apis: &Apis, gate: &GateWrite) -> Result<PatchOutcome, Failure> {
    let guard = Guard {
        uid: Some(gate.uid.as_str()),
        version: gate.version,
    };
    let pods = apis.pods(&gate.pod.namespace);
    let object = format!("the condition of pod {}", gate.pod);
    let mut condition = json!({
        "type": names::ATTACHED_GATE,
        "status": if gate.status { "True" } else { "False" },
        "reason": gate.reason.as_str(),
        "message": gate.message,
    });
    // Conditions are merged by type: without a `lastTransitionTime` in the patch the present one is kept.
    if let Value::Object(fields) = &mut condition
        && gate.shown != Some(gate.status)
    {
        let now = json!(Time(Timestamp::now()));
        fields.insert("lastTransitionTime".to_owned(), now);
    }
    let status = json!({"conditions": [condition]});
    let patch = match gate.denied_at {
        Some(version) => json!({
            "metadata": {"annotations": {names::DENIED_AT_ANNOTATION: version.to_string()}},
            "status": status,
        }),
        None => json!({"status": status}),
    };
    let part = Subresource::StatusByKey;
    send(&pods, &object, &gate.pod.name, guard, part, patch).await
}

#[cfg(test)]
mod tests;
