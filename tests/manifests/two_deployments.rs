//! Webhook and controller as two deployments: the objects of both fit each other, and each has its own rights.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde::Deserialize as _;
use serde_yaml::Value;

use crate::files::object;
use crate::kustomize::built_with;

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
