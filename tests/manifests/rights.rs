//! The rights of each account.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};

use serde::de::Deserialize as _;
use serde_yaml::Value;

use crate::files::{NAMESPACE, files, object, root};
use crate::kustomize::built_with;

/// Maps `group/resource` to verbs. With `resourceNames` the key is `group/resource:names`.
fn rights(rules: Vec<PolicyRule>) -> BTreeMap<String, BTreeSet<String>> {
    let mut rights = BTreeMap::<String, BTreeSet<String>>::new();
    for rule in rules {
        let names = rule.resource_names.unwrap_or_default();
        for group in rule.api_groups.unwrap() {
            for resource in rule.resources.as_ref().unwrap() {
                let names = if names.is_empty() {
                    String::new()
                } else {
                    format!(":{}", names.join(","))
                };
                rights
                    .entry(format!("{group}/{resource}{names}"))
                    .or_default()
                    .extend(rule.verbs.clone());
            }
        }
    }
    rights
}

fn expected(rights: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
    let verbs = |verbs: &[&str]| verbs.iter().map(|verb| (*verb).to_owned()).collect();
    rights
        .iter()
        .map(|(resource, granted)| ((*resource).to_owned(), verbs(granted)))
        .collect()
}

#[test]
fn the_rights_are_exactly_those_that_are_used() {
    const OBJECT: &[&str] = &["get", "list", "watch", "patch"];
    let controller: ClusterRole = object("config/rbac/controller_cluster_role.yaml");
    assert_eq!(
        rights(controller.rules.unwrap()),
        expected(&[
            ("ip.wgtwo.com/ips", OBJECT),
            ("ip.wgtwo.com/ipblocks", OBJECT),
            ("ip.wgtwo.com/ips/status", &["patch"]),
            ("ip.wgtwo.com/ipblocks/status", &["patch"]),
            ("ip.wgtwo.com/ipnodes", &["list", "watch"]),
            (
                "networking.k8s.io/ipaddresses",
                &["get", "list", "watch", "create", "patch", "delete"]
            ),
            ("/pods", &["get", "list", "watch"]),
            ("/pods/status", &["patch"]),
            ("/nodes", OBJECT),
            ("apps/replicasets", &["get", "list"]),
            ("events.k8s.io/events", &["create", "patch"]),
        ])
    );
    let webhook: ClusterRole = object("config/rbac/webhook_cluster_role.yaml");
    assert_eq!(
        rights(webhook.rules.unwrap()),
        expected(&[
            ("ip.wgtwo.com/ips", &["get", "list", "watch"]),
            ("ip.wgtwo.com/ipblocks", &["list", "watch"]),
            ("networking.k8s.io/ipaddresses", &["get"]),
            ("/nodes", &["get"]),
            (
                "admissionregistration.k8s.io/mutatingwebhookconfigurations:mooring",
                &["get", "list", "watch"]
            ),
            (
                "admissionregistration.k8s.io/validatingwebhookconfigurations:mooring",
                &["get", "list", "watch"]
            ),
            ("events.k8s.io/events", &["create", "patch"]),
        ])
    );
    let more: ClusterRole = object("config/self-managed/cluster_role.yaml");
    assert_eq!(
        rights(more.rules.unwrap()),
        expected(&[
            (
                "admissionregistration.k8s.io/mutatingwebhookconfigurations:mooring",
                &["patch"]
            ),
            (
                "admissionregistration.k8s.io/validatingwebhookconfigurations:mooring",
                &["patch"]
            ),
        ])
    );
    let more: Role = object("config/self-managed/role.yaml");
    assert_eq!(
        rights(more.rules.unwrap()),
        expected(&[
            ("/secrets", &["create"]),
            ("/secrets:mooring-webhook-certificate", &["get", "update"]),
        ])
    );
    let more: ClusterRole = object("config/authorize-use/cluster_role.yaml");
    assert_eq!(
        rights(more.rules.unwrap()),
        expected(&[("authorization.k8s.io/subjectaccessreviews", &["create"])])
    );
    let node: ClusterRole = object("config/node/cluster_role.yaml");
    assert_eq!(
        rights(node.rules.unwrap()),
        expected(&[
            ("ip.wgtwo.com/ipblocks", &["list", "watch"]),
            ("ip.wgtwo.com/ips", &["get", "list", "watch"]),
            ("/pods", &["list", "watch"]),
            ("/nodes", &["get"]),
            ("ip.wgtwo.com/ipnodes", &["create"]),
            ("ip.wgtwo.com/ipnodes/status", &["patch"]),
        ])
    );
    let role: Role = object("config/rbac/controller_role.yaml");
    assert_eq!(
        rights(role.rules.unwrap()),
        expected(&[
            ("coordination.k8s.io/leases", &["create"]),
            (
                "coordination.k8s.io/leases:mooring",
                &["get", "list", "update", "watch"]
            ),
        ])
    );
}

#[test]
fn the_rights_are_bound_to_the_service_account_of_the_pods() {
    let account: ServiceAccount = object("config/rbac/service_account.yaml");
    let (name, namespace) = (account.metadata.name, account.metadata.namespace);
    assert_eq!(namespace.as_deref(), Some(NAMESPACE));
    let deployment: Deployment = object("config/default/deployment.yaml");
    assert_eq!(
        deployment
            .spec
            .unwrap()
            .template
            .spec
            .unwrap()
            .service_account_name,
        name
    );
    let [controller, webhook] = ["controller", "webhook"]
        .map(|part| format!("config/rbac/{part}_cluster_role_binding.yaml"))
        .map(|file| object::<ClusterRoleBinding>(&file));
    let within: RoleBinding = object("config/rbac/controller_role_binding.yaml");
    let given = [&controller.role_ref, &webhook.role_ref, &within.role_ref];
    assert_eq!(
        given.map(|role| (role.kind.as_str(), role.name.as_str())),
        [
            ("ClusterRole", "mooring-controller"),
            ("ClusterRole", "mooring-webhook"),
            ("Role", "mooring-controller")
        ]
    );
    let asking: ClusterRoleBinding = object("config/authorize-use/cluster_role_binding.yaml");
    assert_eq!(asking.role_ref.name, "mooring-authorize-use");
    for subjects in [
        controller.subjects,
        webhook.subjects,
        within.subjects,
        asking.subjects,
    ] {
        let [subject] = subjects.unwrap().try_into().unwrap();
        assert_eq!(
            (Some(subject.name), subject.namespace),
            (name.clone(), namespace.clone())
        );
    }
}

/// The accounts that a kustomization binds to a role.
fn bound_to(built: &str, role: &str) -> Vec<String> {
    let mut objects = serde_yaml::Deserializer::from_str(built)
        .map(|document| Value::deserialize(document).unwrap());
    let binding = objects.find(|object| {
        object["kind"].as_str() == Some("ClusterRoleBinding")
            && object["metadata"]["name"].as_str() == Some(role)
    });
    let binding = binding.unwrap_or_else(|| panic!("no binding {role}"));
    let subjects = binding["subjects"].as_sequence().unwrap().iter();
    let account = |subject: &Value| {
        assert_eq!(subject["kind"].as_str(), Some("ServiceAccount"));
        assert_eq!(subject["namespace"].as_str(), Some(NAMESPACE));
        subject["name"].as_str().unwrap().to_owned()
    };
    subjects.map(account).collect()
}

/// Replicas with the earlier account answer reviews until they are replaced.
#[test]
fn the_change_to_two_deployments_takes_the_right_to_ask_from_no_replica_that_answers() {
    for folder in ["default", "self-managed"] {
        let asking = "mooring-authorize-use";
        let one = built_with(&["authorize-use"], folder);
        assert_eq!(bound_to(&one, asking), ["mooring"]);
        let two = built_with(&["authorize-use", "two-deployments"], folder);
        assert_eq!(bound_to(&two, asking), ["mooring", "mooring-webhook"]);
        assert_eq!(bound_to(&two, "mooring-webhook"), ["mooring-webhook"]);
        assert_eq!(bound_to(&two, "mooring-controller"), ["mooring"]);
    }
    // What else a review needs, the controller needs too.
    let [webhook, controller] = ["webhook", "controller"]
        .map(|part| object::<ClusterRole>(&format!("config/rbac/{part}_cluster_role.yaml")))
        .map(|role| rights(role.rules.unwrap()));
    let for_reviews = webhook
        .iter()
        .filter(|(resource, _)| !resource.starts_with("admissionregistration.k8s.io/"));
    for (resource, verbs) in for_reviews {
        assert!(controller[resource].is_superset(verbs), "{resource}");
    }
}

/// `make verify SLICES=rights` removes each rule and runs the test that the rule names.
#[test]
fn every_rule_names_the_test_that_needs_it() {
    let roles = files().into_iter().filter(|file| {
        let name = file.file_name().unwrap().to_string_lossy();
        name.ends_with("role.yaml")
    });
    for file in roles {
        let role = std::fs::read_to_string(&file).unwrap();
        let mut named = None;
        for line in role.lines() {
            if let Some((_, test)) = line.split_once("# Needed by: ") {
                named = Some(test);
            } else if line.starts_with("  - apiGroups:") {
                let test = named.take();
                let test = test.unwrap_or_else(|| panic!("{}: no test: {line}", file.display()));
                assert!(is_test(test), "no test {test}");
            }
        }
    }
}

/// Does the test exist: a scene `e2e::MODULE::SCENE`, or a test `node::PROMISE`?
fn is_test(name: &str) -> bool {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap_or_default();
    match *name.split("::").collect::<Vec<_>>() {
        ["e2e", module, scene] => {
            read(&format!("tests/e2e/{module}.rs")).contains(&format!("async fn {scene}("))
        }
        ["node", promise] => read("tests/node/main.rs").contains(&format!("(\"{promise}\", ")),
        _ => false,
    }
}
