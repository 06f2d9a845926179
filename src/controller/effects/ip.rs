//! Writes of an `IP`: status, finalizer, and the annotation `take-from`, which is used once.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::DynamicObject;
use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::IpStatus;
use mooring_plan::step::Moved;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::Effects;
use super::patch::{Guard, PatchOutcome, Subresource, finalizers, patch, patch_known};
use crate::api::read::{ip_status_patch, unreadable_ip_patch};
use crate::api::{self, names};
use crate::controller::error::Failure;

impl Effects {
    pub(super) async fn write_status(
        &self,
        name: &IpName,
        version: ResourceVersion,
        status: &IpStatus,
        moved: Moved,
    ) -> Result<PatchOutcome, Failure> {
        let now = Time(Timestamp::now());
        self.change_ip(name, version, Subresource::Status, |ip| {
            let before = match ip.data.get("status") {
                None | Some(Value::Null) => api::IpStatus::default(),
                Some(status) => api::IpStatus::deserialize(status)?,
            };
            Ok(Some(
                json!({"status": ip_status_patch(status, &before, moved, &now)?}),
            ))
        })
        .await
    }

    /// Writes into the conditions of an `IP` that it cannot be read. The rest of its status is kept, so that a person
    /// can repair it.
    pub(super) async fn report_unreadable(
        &self,
        name: &IpName,
        version: ResourceVersion,
        message: &str,
    ) -> Result<PatchOutcome, Failure> {
        let now = Time(Timestamp::now());
        let guard = Guard {
            uid: None,
            version: Some(version),
        };
        patch(
            &self.apis.ips(),
            &format!("IP {name}"),
            name.as_str(),
            guard,
            Subresource::Status,
            |ip| Ok(unreadable_ip_patch(ip, message, &now)),
        )
        .await
    }

    pub(super) async fn finalizer(
        &self,
        name: &IpName,
        version: ResourceVersion,
        wanted: bool,
    ) -> Result<PatchOutcome, Failure> {
        self.change_ip(name, version, Subresource::Object, |ip| {
            Ok(finalizers(ip, names::IP_FINALIZER, wanted))
        })
        .await
    }

    pub(super) async fn remove_take_from(
        &self,
        name: &IpName,
        version: ResourceVersion,
    ) -> Result<PatchOutcome, Failure> {
        self.change_ip(name, version, Subresource::Object, |_| {
            Ok(Some(
                json!({"metadata": {"annotations": {names::TAKE_FROM_ANNOTATION: null}}}),
            ))
        })
        .await
    }

    /// Changes an `IP`. The change is based on the version that it was decided from, and guarded by that version.
    async fn change_ip(
        &self,
        name: &IpName,
        version: ResourceVersion,
        subresource: Subresource,
        change: impl FnOnce(&DynamicObject) -> Result<Option<Value>, serde_json::Error>,
    ) -> Result<PatchOutcome, Failure> {
        let guard = Guard {
            uid: None,
            version: Some(version),
        };
        let cache = self.apis.object_cache();
        let outcome = patch_known(
            cache.at(name.as_str(), version),
            &self.apis.ips(),
            &format!("IP {name}"),
            name.as_str(),
            guard,
            subresource,
            change,
        )
        .await?;
        if let PatchOutcome::Done(ip) | PatchOutcome::Changed(ip) = &outcome {
            cache.see(ip);
        }
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;
    use kube::api::DynamicObject;
    use mooring_plan::names::{IpName, ResourceVersion};
    use serde_json::{Value, json};

    use super::{Effects, PatchOutcome, names};
    use crate::fake_api::{api_server, failure};

    fn partner() -> Value {
        json!({
            "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP",
            "metadata": {"name": "partner", "uid": "u-1", "resourceVersion": "7", "finalizers": [names::IP_FINALIZER]},
            "spec": {"address": "203.0.113.7"},
        })
    }

    #[tokio::test]
    async fn where_nothing_is_to_be_changed_the_answer_is_the_whole_object() {
        let client = api_server(|method, _, _| match *method {
            Method::GET => (200, partner()),
            _ => failure(422),
        });
        let effects = Effects::of_client(client);
        let seen: DynamicObject = serde_json::from_value(partner()).unwrap();
        effects.apis.object_cache().see(&seen);
        let (name, version) = (IpName::from("partner"), ResourceVersion(7));
        let outcome = effects.finalizer(&name, version, true).await.unwrap();
        let PatchOutcome::Done(ip) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(ip.data["spec"]["address"], "203.0.113.7");
    }
}
