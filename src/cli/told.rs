//! Events about this very process, on its pod.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

use crate::telemetry::chain;

/// Posts Events on the pod that this process runs in; outside of one there is nobody to tell.
#[derive(Clone)]
pub struct Told {
    recorder: Recorder,
    pod: Option<ObjectReference>,
}

impl Told {
    pub fn new(client: &Client, namespace: &str) -> Self {
        let given = |variable| std::env::var(variable).ok().filter(|it| !it.is_empty());
        let name = given("POD_NAME");
        let reporter = Reporter {
            controller: crate::api::names::GROUP.to_owned(),
            instance: name.clone(),
        };
        Self {
            recorder: Recorder::new(client.clone(), reporter),
            pod: name.map(|name| ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: Some(name),
                namespace: Some(namespace.to_owned()),
                // `kubectl describe` shows the Events of an object by it.
                uid: given("POD_UID"),
                ..ObjectReference::default()
            }),
        }
    }

    /// A Warning; what cannot be posted is logged.
    pub fn warn(&self, reason: &'static str, note: String) {
        let Some(pod) = self.pod.clone() else { return };
        let recorder = self.recorder.clone();
        tokio::spawn(async move {
            let event = Event {
                type_: EventType::Warning,
                reason: reason.to_owned(),
                note: Some(note.chars().take(1000).collect()),
                action: "Serve".to_owned(),
                secondary: None,
            };
            if let Err(error) = recorder.publish(&event, &pod).await {
                tracing::warn!(error = chain(&error), "an Event was not posted");
            }
        });
    }
}
