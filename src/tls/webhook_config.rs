//! The certificates that the API server trusts: the `caBundle` of every webhook in the two configurations of Mooring.

use std::fmt::Debug;

use futures::stream::{self, BoxStream, Stream, StreamExt as _};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::api::{Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{Event, watcher};
use kube::{Api, Client, Resource};
use rustls::pki_types::{CertificateDer, ServerName};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::pair::certificates;
use crate::api::request::in_time;
use crate::api::{names, watching};

/// Name of both configurations (`config/webhook`).
const CONFIGURATION: &str = "mooring";

/// One webhook of Mooring in a configuration.
#[derive(Clone, Debug)]
pub(super) struct Hook {
    /// The name of the webhook.
    pub webhook: String,
    index: usize,
    /// The name that the API server connects to, and that the certificate must be valid for.
    pub name: Option<ServerName<'static>>,
    /// The certificates in its `caBundle`. Empty if the bundle cannot be parsed.
    pub bundle: Vec<CertificateDer<'static>>,
}

/// One configuration that was read.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    kind: ConfigurationKind,
    version: String,
    pub hooks: Vec<Hook>,
}

#[derive(Clone, Copy, Debug)]
enum ConfigurationKind {
    Mutating,
    Validating,
}

/// Reads both configurations. One that does not exist is left out.
pub(super) async fn read(client: &Client) -> Result<Vec<Configuration>, kube::Error> {
    let mutating = Api::<MutatingWebhookConfiguration>::all(client.clone());
    let validating = Api::<ValidatingWebhookConfiguration>::all(client.clone());
    let mut found = Vec::new();
    if let Some(read) = in_time(mutating.get_opt(CONFIGURATION)).await? {
        let webhooks = read.webhooks.iter().flatten();
        let webhooks = webhooks.map(|it| (&it.name, &it.client_config));
        found.push(Configuration {
            kind: ConfigurationKind::Mutating,
            version: read.metadata.resource_version.unwrap_or_default(),
            hooks: ours(webhooks).collect(),
        });
    }
    if let Some(read) = in_time(validating.get_opt(CONFIGURATION)).await? {
        let webhooks = read.webhooks.iter().flatten();
        let webhooks = webhooks.map(|it| (&it.name, &it.client_config));
        found.push(Configuration {
            kind: ConfigurationKind::Validating,
            version: read.metadata.resource_version.unwrap_or_default(),
            hooks: ours(webhooks).collect(),
        });
    }
    Ok(found)
}

/// Watches both configurations.
pub(super) struct Watch {
    /// The kind, and whether its watch works.
    events: BoxStream<'static, (ConfigurationKind, bool)>,
    mutating: bool,
    validating: bool,
}

impl Watch {
    /// Starts both watches.
    pub fn new(client: &Client) -> Self {
        let mutating = watch_one(
            Api::<PartialObjectMeta<MutatingWebhookConfiguration>>::all(client.clone()),
            ConfigurationKind::Mutating,
        );
        let validating = watch_one(
            Api::<PartialObjectMeta<ValidatingWebhookConfiguration>>::all(client.clone()),
            ConfigurationKind::Validating,
        );
        Self {
            events: stream::select(mutating, validating).boxed(),
            mutating: false,
            validating: false,
        }
    }

    /// Returns when a configuration may have changed or a watch was interrupted.
    pub async fn changed(&mut self) {
        match self.events.next().await {
            Some((ConfigurationKind::Mutating, at_work)) => self.mutating = at_work,
            Some((ConfigurationKind::Validating, at_work)) => self.validating = at_work,
            None => std::future::pending().await,
        }
    }

    /// Whether both watches work, so that no change is missed.
    pub const fn is_at_work(&self) -> bool {
        self.mutating && self.validating
    }
}

fn watch_one<K>(
    api: Api<K>,
    kind: ConfigurationKind,
) -> impl Stream<Item = (ConfigurationKind, bool)> + Send
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let config = watching::watch().fields(&format!("metadata.name={CONFIGURATION}"));
    let events = watcher(api, config).backoff(watching::backoff());
    events.filter_map(move |event| {
        let result = match event {
            // Report a list once, when it is complete, not each of its events.
            Ok(Event::Init | Event::InitApply(_)) => None,
            event => Some((kind, event.is_ok())),
        };
        std::future::ready(result)
    })
}

/// Writes the bundle into each webhook of Mooring, guarded by the version of the configuration that was read.
pub(super) async fn write(
    client: &Client,
    configuration: &Configuration,
    bundle: &str,
) -> Result<(), kube::Error> {
    let bundle = ByteString(bundle.as_bytes().to_vec());
    let mut operations = vec![json!({
        "op": "test", "path": "/metadata/resourceVersion", "value": configuration.version
    })];
    operations.extend(configuration.hooks.iter().map(|hook| {
        let path = format!("/webhooks/{}/clientConfig/caBundle", hook.index);
        json!({"op": "add", "path": path, "value": bundle})
    }));
    let operations =
        serde_json::from_value(Value::Array(operations)).map_err(kube::Error::SerdeError)?;
    let patch = Patch::<()>::Json(operations);
    let params = PatchParams::default();
    match configuration.kind {
        ConfigurationKind::Mutating => {
            let api = Api::<MutatingWebhookConfiguration>::all(client.clone());
            let written = api.patch_metadata(CONFIGURATION, &params, &patch);
            in_time(written).await.map(drop)
        }
        ConfigurationKind::Validating => {
            let api = Api::<ValidatingWebhookConfiguration>::all(client.clone());
            let written = api.patch_metadata(CONFIGURATION, &params, &patch);
            in_time(written).await.map(drop)
        }
    }
}

/// The webhooks of Mooring, by name. Others in the configuration are not changed.
fn ours<'a>(
    webhooks: impl Iterator<Item = (&'a String, &'a WebhookClientConfig)>,
) -> impl Iterator<Item = Hook> {
    webhooks
        .enumerate()
        .filter(|(_, (name, _))| name.ends_with(names::GROUP))
        .map(|(index, (name, config))| {
            let bundle = config
                .ca_bundle
                .as_ref()
                .map_or(&[][..], |bundle| &bundle.0);
            Hook {
                webhook: name.clone(),
                index,
                name: dialled(config).and_then(|name| ServerName::try_from(name).ok()),
                bundle: certificates(bundle).unwrap_or_default(),
            }
        })
}

/// The name to which the API server connects: for a Service `name.namespace.svc` (API reference, `ServiceReference`).
fn dialled(config: &WebhookClientConfig) -> Option<String> {
    if let Some(service) = &config.service {
        return Some(format!("{}.{}.svc", service.name, service.namespace));
    }
    let url: axum::http::Uri = config.url.as_ref()?.parse().ok()?;
    Some(url.host()?.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{WebhookClientConfig, ours, read};
    use crate::api::request::REQUEST_TIMEOUT;
    use crate::fake_api::half_open_api_server;

    #[tokio::test(start_paused = true)]
    async fn a_read_without_an_answer_ends_and_says_so() {
        let client = half_open_api_server(|_, _| None);
        let begin = tokio::time::Instant::now();
        let failed = tokio::time::timeout(2 * REQUEST_TIMEOUT, read(&client)).await;
        assert!(failed.expect("it ends").is_err());
        assert_eq!(begin.elapsed(), REQUEST_TIMEOUT);
    }

    #[track_caller]
    fn expect_dialled(client_config: serde_json::Value, name: Option<&str>) {
        let (webhook, config) = (
            "pods.ip.wgtwo.com".to_owned(),
            serde_json::from_value(client_config).unwrap(),
        );
        let [hook] = ours([(&webhook, &config)].into_iter())
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        let found = hook.name.map(|name| name.to_str().into_owned());
        assert_eq!(found.as_deref(), name);
    }

    #[test]
    fn the_certificate_is_for_the_name_that_is_dialled() {
        let service = json!({"service": {"name": "tug", "namespace": "harbour", "port": 8443}});
        expect_dialled(service, Some("tug.harbour.svc"));
        expect_dialled(
            json!({"url": "https://127.0.0.1:8443/mutate"}),
            Some("127.0.0.1"),
        );
        expect_dialled(
            json!({"url": "https://tug.example/mutate"}),
            Some("tug.example"),
        );
        expect_dialled(json!({"url": "not a name"}), None);
    }

    #[test]
    fn webhooks_with_other_names_are_left_alone() {
        let (webhook, config) = (
            "pods.example.com".to_owned(),
            WebhookClientConfig::default(),
        );
        assert_eq!(ours([(&webhook, &config)].into_iter()).count(), 0);
    }
}
