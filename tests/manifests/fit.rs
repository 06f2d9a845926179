//! Every name in the manifests refers to something that exists.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use mooring_cluster::control_plane_binary;
use serde::Deserialize as _;
use serde_yaml::Value;

use crate::files::{NAMESPACE, documents, files, object, read, root};

#[test]
fn every_file_parses_and_belongs_to_a_kustomization() {
    let mut listed = BTreeSet::new();
    for file in files() {
        for document in documents(&file) {
            for field in ["apiVersion", "kind"] {
                assert!(
                    document.get(field).is_some(),
                    "{} has no {field}",
                    file.display()
                );
            }
        }
        if file
            .file_name()
            .is_some_and(|name| name == "kustomization.yaml")
        {
            let folder = file.parent().unwrap();
            let [kustomization] = documents(&file).try_into().unwrap();
            for resource in kustomization["resources"].as_sequence().unwrap() {
                let path = folder.join(resource.as_str().unwrap());
                let path = path.canonicalize();
                let path = path
                    .unwrap_or_else(|error| panic!("{}: {resource:?}: {error}", file.display()));
                listed.insert(if path.is_dir() {
                    path.join("kustomization.yaml")
                } else {
                    path
                });
            }
        }
    }
    for file in files() {
        let root = file
            .file_name()
            .is_some_and(|name| name == "kustomization.yaml");
        assert!(
            root || listed.contains(&file),
            "no kustomization names {}",
            file.display()
        );
    }
}

#[test]
fn kustomize_builds_what_users_apply() {
    let kubectl = control_plane_binary("kubernetes", "kubectl");
    for folder in [
        "config/crd",
        "config/default",
        "config/node",
        "config/samples",
        "config/self-managed",
        "webhook-certs",
    ] {
        let built = Command::new(&kubectl)
            .arg("kustomize")
            .arg(root().join(folder))
            .output()
            .unwrap();
        assert!(
            built.status.success(),
            "{folder}: {}",
            String::from_utf8_lossy(&built.stderr)
        );
        if folder == "config/default" {
            let text = String::from_utf8_lossy(&built.stdout);
            assert!(
                !text.contains("kind: CustomResourceDefinition"),
                "the definitions are applied apart"
            );
            assert!(
                text.contains("kind: ValidatingWebhookConfiguration"),
                "{text}"
            );
        }
        if folder == "config/self-managed" {
            let text = String::from_utf8_lossy(&built.stdout);
            assert!(text.contains("- --tls=self-managed"), "{text}");
            for others in ["cert-manager.io", "mooring-webhook-tls"] {
                assert!(!text.contains(others), "{others} is of no use here");
            }
        }
    }
}

/// The output of kustomize for a folder of `config`, with components.
pub fn built_with(components: &[&str], folder: &str) -> String {
    // Bases have paths relative to this folder. kustomize also reads bases outside of its root.
    let path = root()
        .join(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{folder}-with-{}", components.join("-")));
    std::fs::create_dir_all(&path).unwrap();
    let up: String = path.components().skip(1).map(|_| "../").collect();
    let config = format!(
        "{}{}",
        up.trim_end_matches('/'),
        root().join("config").display()
    );
    let components = components
        .iter()
        .map(|component| format!("{config}/{component}"));
    let components = components.collect::<Vec<_>>().join(", ");
    let kustomization = format!("resources: [{config}/{folder}]\ncomponents: [{components}]\n");
    std::fs::write(path.join("kustomization.yaml"), kustomization).unwrap();
    let kubectl = control_plane_binary("kubernetes", "kubectl");
    let built = Command::new(&kubectl)
        .arg("kustomize")
        .arg(&path)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{folder}: {}",
        String::from_utf8_lossy(&built.stderr)
    );
    String::from_utf8(built.stdout).unwrap()
}

#[test]
fn the_right_to_use_an_ip_can_be_checked_with_either_certificate() {
    let help = Command::new(env!("CARGO_BIN_EXE_mooring"))
        .args(["run", "--help"])
        .output()
        .unwrap();
    assert!(
        String::from_utf8(help.stdout)
            .unwrap()
            .contains("--authorize-use\n")
    );
    for folder in ["default", "self-managed"] {
        let built = built_with(&["authorize-use"], folder);
        for part in [
            "- --authorize-use\n",
            "- subjectaccessreviews\n",
            "name: mooring-authorize-use\n",
        ] {
            assert!(built.contains(part), "{folder}: {part}");
        }
    }
}

#[test]
fn the_deployment_uses_existing_flags() {
    let deployment: Deployment = object("config/default/deployment.yaml");
    let pod = deployment.spec.unwrap().template.spec.unwrap();
    let args = pod.containers[0].args.clone().unwrap();
    let help = Command::new(env!("CARGO_BIN_EXE_mooring"))
        .args(["run", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
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

#[test]
fn webhook_and_controller_can_run_separately_with_their_own_rights() {
    for folder in ["default", "self-managed"] {
        let built = built_with(&["two-deployments"], folder);
        let objects: Vec<Value> = serde_yaml::Deserializer::from_str(&built)
            .map(|document| Value::deserialize(document).unwrap())
            .collect();
        let named = |kind: &str, name: &str| {
            let found = objects.iter().find(|object| {
                object["kind"].as_str() == Some(kind)
                    && object["metadata"]["name"].as_str() == Some(name)
            });
            found.unwrap_or_else(|| panic!("{folder}: no {kind} {name}"))
        };
        let given = |kind: &str, name: &str| {
            named(kind, name)["subjects"][0]["name"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let mut webhooks = vec![("ClusterRoleBinding", "mooring-webhook")];
        if folder == "self-managed" {
            webhooks.extend([
                ("ClusterRoleBinding", "mooring-certificate"),
                ("RoleBinding", "mooring-certificate"),
            ]);
        }
        for (kind, name) in webhooks {
            assert_eq!(
                given(kind, name),
                "mooring-webhook",
                "{folder}: {kind} {name}"
            );
        }
        for kind in ["ClusterRoleBinding", "RoleBinding"] {
            assert_eq!(
                given(kind, "mooring-controller"),
                "mooring",
                "{folder}: {kind}"
            );
        }
        for (name, account, argument) in [
            ("mooring", "mooring-webhook", "--controller=false"),
            ("mooring-controller", "mooring", "--webhook=false"),
        ] {
            let pod = &named("Deployment", name)["spec"]["template"];
            assert_eq!(pod["spec"]["serviceAccountName"].as_str(), Some(account));
            let arguments = pod["spec"]["containers"][0]["args"].as_sequence().unwrap();
            assert!(
                arguments
                    .iter()
                    .any(|given| given.as_str() == Some(argument)),
                "{arguments:?}"
            );
            // Both have the image that `images` of config/default names.
            let image = |name| {
                let pod = &named("Deployment", name)["spec"]["template"]["spec"];
                pod["containers"][0]["image"].as_str().unwrap()
            };
            assert!(image(name).starts_with("mooring:"), "{folder}: {name}");
            assert_eq!(image(name), image("mooring"), "{folder}: {name}");
            let budget = &named("PodDisruptionBudget", name)["spec"];
            let labels = &pod["metadata"]["labels"];
            assert_eq!(
                &budget["selector"]["matchLabels"], labels,
                "{folder}: {name}"
            );
            // The Service selects only the pods of the webhook.
            let selected =
                &named("Service", "mooring-webhook")["spec"]["selector"]["app.kubernetes.io/name"];
            let labelled = &pod["metadata"]["labels"]["app.kubernetes.io/name"];
            assert_eq!(selected == labelled, name == "mooring");
        }
    }
}

#[test]
fn the_network_policy_selects_the_pods_of_both_deployments() {
    let policy: NetworkPolicy = object("config/network-policy/network_policy.yaml");
    let selector = policy.spec.unwrap().pod_selector.unwrap();
    let [term] = selector.match_expressions.unwrap().try_into().unwrap();
    assert_eq!(term.operator, "In");
    let selected = term.values.unwrap();
    for folder in ["config/default", "config/two-deployments"] {
        let deployment: Deployment = object(&format!("{folder}/deployment.yaml"));
        let template = deployment.spec.unwrap().template;
        let labels = template.metadata.unwrap().labels.unwrap();
        assert!(
            selected.contains(&labels[&term.key]),
            "{folder}: {labels:?}"
        );
    }
}
