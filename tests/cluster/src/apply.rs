//! Applies manifests like `kubectl apply --server-side`, but without a process for each one.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::paths::control_plane_binary;

/// Kinds without a namespace among those that manifests here contain.
const CLUSTER_SCOPED: &[&str] = &[
    "APIService",
    "ClusterIssuer",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "FlowSchema",
    "IP",
    "IPAddress",
    "IPBlock",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

impl Cluster {
    /// Applies every document of a YAML text (server-side, forced).
    ///
    /// # Panics
    /// If one is refused. See [`Cluster::try_apply`].
    pub async fn apply(&self, yaml: &str) {
        self.try_apply(yaml)
            .await
            .unwrap_or_else(|error| panic!("{error}\nin:\n{yaml}"));
    }

    /// Applies every document of a YAML text; stops at the first that is refused, with its message.
    pub async fn try_apply(&self, yaml: &str) -> Result<(), kube::Error> {
        let client = self.client().await;
        for document in documents(yaml) {
            one(&client, &document).await?;
        }
        Ok(())
    }
}

/// The documents of a YAML text.
pub(crate) fn documents(yaml: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(yaml)
        .map(|document| {
            Value::deserialize(document).unwrap_or_else(|error| panic!("not YAML: {error}\n{yaml}"))
        })
        .filter(|document| !document.is_null())
        .collect()
}

/// Applies one object.
pub(crate) async fn one(
    client: &kube::Client,
    object: &Value,
) -> Result<DynamicObject, kube::Error> {
    let object = &without_the_named_rule(object);
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
    let api: Api<DynamicObject> = if CLUSTER_SCOPED.contains(&kind.as_str()) {
        Api::all_with(client.clone(), &resource)
    } else {
        let namespace = text("/metadata/namespace");
        let namespace = if namespace.is_empty() {
            "default"
        } else {
            &namespace
        };
        Api::namespaced_with(client.clone(), namespace, &resource)
    };
    api.patch(
        &name,
        &PatchParams::apply("test").force(),
        &Patch::Apply(object),
    )
    .await
}

/// Creates a namespace, if it does not exist.
pub(crate) async fn namespace(client: &kube::Client, name: &str) {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    one(client, &object)
        .await
        .unwrap_or_else(|error| panic!("making namespace {name}: {error}"));
}

/// The objects of a kustomization, or of all YAML files of a folder. Empty if the folder does not exist.
pub(crate) fn objects(folder: &Path) -> Vec<Value> {
    if !folder.exists() {
        return Vec::new();
    }
    if folder.join("kustomization.yaml").exists() {
        let output = Command::new(control_plane_binary("kubernetes", "kubectl"))
            .arg("kustomize")
            .arg(folder)
            .output()
            .expect("kubectl can be started");
        assert!(
            output.status.success(),
            "kustomize {}: {}",
            folder.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        return documents(&String::from_utf8_lossy(&output.stdout));
    }
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder can be read")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
        .iter()
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .flat_map(|path| documents(&std::fs::read_to_string(path).expect("a manifest can be read")))
        .collect()
}

/// `ClusterRole/NAME/3` in this variable removes the fourth rule of that role, and the same rule in every role that is
/// applied later. Tests that need the rule then fail.
const WITHOUT: &str = "MOORING_WITHOUT_RULE";
static TAKEN: Mutex<Option<Value>> = Mutex::new(None);

/// The object, without the rule that the variable names.
pub(crate) fn without_the_named_rule(object: &Value) -> Value {
    let mut object = object.clone();
    let Ok(named) = std::env::var(WITHOUT) else {
        return object;
    };
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    let whose = (text("/kind"), text("/metadata/name"));
    let whose = format!(
        "{}/{}/",
        whose.0.unwrap_or_default(),
        whose.1.unwrap_or_default()
    );
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(rules) = object.get_mut("rules").and_then(Value::as_array_mut) {
        if let Some(number) = named.strip_prefix(&whose) {
            let number: usize = number
                .parse()
                .unwrap_or_else(|error| panic!("{WITHOUT}={named}: {error}"));
            *taken = rules.get(number).cloned();
            eprintln!("without {taken:?} of {whose}");
        }
        rules.retain(|rule| Some(rule) != taken.as_ref());
    }
    object
}

/// Applies a folder, and waits until the CRDs in it are served.
pub(crate) async fn folder(client: &kube::Client, folder: &Path) {
    for object in objects(folder) {
        one(client, &object)
            .await
            .unwrap_or_else(|error| panic!("applying {}: {error}\n{object}", folder.display()));
        if object["kind"] == "CustomResourceDefinition" {
            established(
                client,
                object
                    .pointer("/metadata/name")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            )
            .await;
        }
    }
}

/// Waits until the API server serves a CRD. Fails if the CRD is not accepted.
pub(crate) async fn established(client: &kube::Client, name: &str) {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ));
    let definitions: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    crate::eventually(
        &format!("CRD {name} is served"),
        Duration::from_secs(30),
        || async {
            let definition = definitions
                .get(name)
                .await
                .map_err(|error| error.to_string())?;
            let conditions = definition
                .data
                .pointer("/status/conditions")
                .cloned()
                .unwrap_or_default();
            let served = conditions.as_array().is_some_and(|all| {
                all.iter().any(|condition| {
                    condition["type"] == "Established" && condition["status"] == "True"
                })
            });
            if served {
                Ok(())
            } else {
                Err(conditions.to_string())
            }
        },
    )
    .await;
}
