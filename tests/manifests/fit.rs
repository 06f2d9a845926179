//! Every name in the manifests refers to something that exists.

use std::collections::BTreeMap;
use std::process::Command;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use crate::files::{NAMESPACE, documents, files, object, read, root};

/// The output of `mooring run --help`.
pub fn help_of_run() -> String {
    let help = Command::new(env!("CARGO_BIN_EXE_mooring"))
        .args(["run", "--help"])
        .output()
        .unwrap();
    String::from_utf8(help.stdout).unwrap()
}

#[test]
fn the_deployment_uses_existing_flags() {
    let deployment: Deployment = object("config/default/deployment.yaml");
    let pod = deployment.spec.unwrap().template.spec.unwrap();
    let args = pod.containers[0].args.clone().unwrap();
    let help = help_of_run();
    assert_eq!(args[0], "run");
    for arg in &args[1..] {
        let (flag, _) = arg.split_once('=').unwrap();
        assert!(
            help.contains(&format!("{flag} <")),
            "{flag} is not in\n{help}"
        );
    }
    let mounted = &pod.containers[0].volume_mounts.as_ref().unwrap()[0].mount_path;
    assert!(args.contains(&format!("--cert-dir={mounted}")), "{args:?}");
    assert!(
        args.contains(&format!("--namespace={NAMESPACE}")),
        "{args:?}"
    );
}

#[test]
fn service_pods_certificate_and_webhooks_refer_to_each_other() {
    let deployment: Deployment = object("config/default/deployment.yaml");
    let spec = deployment.spec.unwrap();
    assert_eq!(spec.replicas, Some(2));
    let labels = spec.template.metadata.unwrap().labels.unwrap();
    let selected = |selector: &BTreeMap<String, String>| {
        selector
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
    };
    assert!(selected(&spec.selector.match_labels.unwrap()));
    let service: Service = object("config/default/service.yaml");
    let (name, service) = (service.metadata.name.unwrap(), service.spec.unwrap());
    assert!(selected(&service.selector.unwrap()));
    let budget: PodDisruptionBudget = object("config/default/pod_disruption_budget.yaml");
    assert!(selected(
        &budget.spec.unwrap().selector.unwrap().match_labels.unwrap()
    ));

    let pod = spec.template.spec.unwrap();
    let port = &service.ports.unwrap()[0];
    assert_eq!(port.port, 443);
    let target = serde_yaml::to_value(port.target_port.as_ref().unwrap()).unwrap();
    let ports = pod.containers[0].ports.as_ref().unwrap();
    assert!(
        ports
            .iter()
            .any(|port| port.name.as_deref() == target.as_str())
    );

    let [certificate] = documents(&root().join("webhook-certs/certificate.yaml"))
        .try_into()
        .unwrap();
    let secret = pod.volumes.unwrap()[0]
        .secret
        .clone()
        .unwrap()
        .secret_name
        .unwrap();
    assert_eq!(
        certificate["spec"]["secretName"].as_str(),
        Some(secret.as_str())
    );
    assert_eq!(
        certificate["spec"]["privateKey"]["rotationPolicy"].as_str(),
        Some("Always")
    );
    let dns = format!("{name}.{NAMESPACE}.svc");
    assert_eq!(
        certificate["spec"]["dnsNames"][0].as_str(),
        Some(dns.as_str())
    );

    let called = webhooks();
    assert!(!called.is_empty());
    for (webhook, client, annotations) in called {
        let service = client.service.unwrap();
        assert_eq!(
            (service.name, service.namespace),
            (name.clone(), NAMESPACE.to_owned()),
            "{webhook}"
        );
        let injected = annotations
            .get("cert-manager.io/inject-ca-from")
            .map(String::as_str);
        assert_eq!(
            injected,
            Some("mooring-system/mooring-webhook"),
            "{webhook}"
        );
    }
}

/// Every webhook: its name, its client configuration, and the annotations of its webhook configuration object.
fn webhooks() -> Vec<(String, WebhookClientConfig, BTreeMap<String, String>)> {
    let mut found = Vec::new();
    let webhooks = root().join("config/webhook");
    for file in files()
        .into_iter()
        .filter(|file| file.starts_with(&webhooks))
    {
        for document in documents(&file) {
            let name = file.display().to_string();
            match document["kind"].as_str() {
                Some("MutatingWebhookConfiguration") => {
                    let object: MutatingWebhookConfiguration = read(&name, &document);
                    let annotations = object.metadata.annotations.unwrap_or_default();
                    for webhook in object.webhooks.unwrap() {
                        found.push((webhook.name, webhook.client_config, annotations.clone()));
                    }
                }
                Some("ValidatingWebhookConfiguration") => {
                    let object: ValidatingWebhookConfiguration = read(&name, &document);
                    let annotations = object.metadata.annotations.unwrap_or_default();
                    for webhook in object.webhooks.unwrap() {
                        found.push((webhook.name, webhook.client_config, annotations.clone()));
                    }
                }
                _ => {}
            }
        }
    }
    found
}
