//! Registers webhooks outside the cluster at the API server.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::mooring::Mooring;
use crate::paths::repository;

/// The label of an object that selects a replica, if several are registered.
const REPLICA: &str = "test.mooring/replica";

/// The label of an object that is refused after the API server has read the registration with that number.
const PROBE: &str = "test.mooring/registration";

impl Cluster {
    /// Registers the webhooks of `config/webhook` with the replicas' addresses in place of the Service.
    ///
    /// With several replicas the label `test.mooring/replica: "1"` (from 0) on an object selects the replica for its
    /// reviews. Objects without the label go to the first replica.
    pub async fn register_webhooks(&self, replicas: &[&Mooring]) {
        let addresses: Vec<String> = replicas
            .iter()
            .map(|replica| replica.webhook_url().to_owned())
            .collect();
        self.register_webhooks_at(&addresses).await;
    }

    /// As [`Cluster::register_webhooks`], with base addresses such as `https://127.0.0.1:8443`.
    pub async fn register_webhooks_at(&self, addresses: &[String]) {
        let authority =
            k8s_openapi::ByteString(self.webhook_authority().certificate().into_bytes());
        let client = self.client().await;
        let registration = self.next_number();
        for mut object in crate::apply::objects(&repository().join("config/webhook")) {
            let kind = object["kind"].as_str().unwrap_or_default().to_owned();
            if kind != "MutatingWebhookConfiguration" && kind != "ValidatingWebhookConfiguration" {
                continue;
            }
            // Without annotations cert-manager does not replace the CA bundle.
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("annotations");
            }
            let webhooks = object["webhooks"].as_array().cloned().unwrap_or_default();
            let mut registered = Vec::new();
            for (number, address) in addresses.iter().enumerate() {
                for webhook in &webhooks {
                    let mut webhook = webhook.clone();
                    let path = webhook
                        .pointer("/clientConfig/service/path")
                        .and_then(Value::as_str)
                        .unwrap_or_else(|| panic!("{kind} names no path: {webhook}"));
                    webhook["clientConfig"] =
                        json!({"url": format!("{address}{path}"), "caBundle": authority});
                    if addresses.len() > 1 {
                        choose(&mut webhook, number);
                    }
                    registered.push(webhook);
                }
            }
            let probe = format!("{}-{registration}", kind.to_lowercase());
            registered.push(refusing(&probe));
            object["webhooks"] = registered.into();
            crate::apply::one(&client, &object)
                .await
                .unwrap_or_else(|error| panic!("registering {kind}: {error}"));
            // The API server reads registrations by a watch. Objects that are created before that are not reviewed.
            self.wait_for_probe(&probe, true).await;
        }
    }

    /// Waits until an object with that label is refused, or is not refused any more.
    async fn wait_for_probe(&self, probe: &str, refused: bool) {
        let maps: Api<ConfigMap> = Api::namespaced(self.client().await, "default");
        let object: ConfigMap = serde_json::from_value(
            json!({"metadata": {"name": "probe", "labels": {PROBE: probe}}}),
        )
        .expect("this is a ConfigMap");
        let trial = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        self.eventually(
            "the API server has read the webhook's registration",
            Duration::from_secs(20),
            || async { maps.create(&trial, &object).await.is_err() == refused },
        )
        .await;
    }

    /// Deletes the webhook configurations.
    pub async fn unregister_webhooks(&self) {
        let client = self.client().await;
        let mut probes = Vec::new();
        for kind in [
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ] {
            let group = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
            let resource = ApiResource::from_gvk(&group);
            let configurations: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            let found = configurations.get_opt("mooring").await;
            let found = found.unwrap_or_else(|error| panic!("reading {kind}: {error}"));
            let Some(found) = found else { continue };
            let webhooks = found.data["webhooks"].as_array();
            let last = webhooks.and_then(|webhooks| webhooks.last());
            let probe = last.and_then(|last| last["objectSelector"]["matchLabels"][PROBE].as_str());
            probes.extend(probe.map(ToOwned::to_owned));
            match configurations
                .delete("mooring", &DeleteParams::default())
                .await
            {
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                deleted => drop(deleted.unwrap_or_else(|error| panic!("deleting {kind}: {error}"))),
            }
        }
        for probe in probes {
            self.wait_for_probe(&probe, false).await;
        }
    }
}

/// A webhook that makes the API server refuse objects with this label: no process listens on its port.
fn refusing(probe: &str) -> Value {
    json!({
        "name": "registration.test.mooring",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "objectSelector": {"matchLabels": {PROBE: probe}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 1,
    })
}

fn choose(webhook: &mut Value, number: usize) {
    let wanted = if number == 0 {
        json!({"key": REPLICA, "operator": "DoesNotExist"})
    } else {
        json!({"key": REPLICA, "operator": "In", "values": [number.to_string()]})
    };
    let selector = &mut webhook["objectSelector"];
    if !selector.is_object() {
        *selector = json!({});
    }
    match selector["matchExpressions"].as_array_mut() {
        Some(expressions) => expressions.push(wanted),
        None => selector["matchExpressions"] = json!([wanted]),
    }
    let name = webhook["name"].as_str().unwrap_or_default();
    webhook["name"] = format!("replica-{number}.{name}").into();
}
