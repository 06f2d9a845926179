//! `config/crd` is equal to the kinds in the code, every field has a description, and the schema validates objects
//! while the webhook is down.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod validation;

use std::path::{Path, PathBuf};

use mooring::api::crds::{definitions, yaml};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config/crd")
}

/// With `MOORING_WRITE_CRDS=1` the files are written instead of compared.
#[test]
fn the_files_are_what_mooring_crds_prints() {
    for definition in definitions() {
        let path = folder().join(format!("{}.yaml", definition.spec.names.plural));
        let wanted = yaml(&definition).unwrap();
        if std::env::var_os("MOORING_WRITE_CRDS").is_some() {
            std::fs::write(&path, &wanted).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == wanted,
            "{} differs from the code: run MOORING_WRITE_CRDS=1 cargo test --test crds",
            path.display()
        );
    }
}

#[test]
fn the_kustomization_names_every_file() {
    let text = std::fs::read_to_string(folder().join("kustomization.yaml")).unwrap();
    let kustomization: Value = serde_yaml::from_str(&text).unwrap();
    let named: Vec<_> = kustomization["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r.as_str().unwrap())
        .collect();
    let wanted: Vec<_> = definitions()
        .iter()
        .map(|d| format!("{}.yaml", d.spec.names.plural))
        .collect();
    assert_eq!(named, wanted);
}

fn schema(kind: &str) -> Value {
    let definition = definitions()
        .into_iter()
        .find(|d| d.spec.names.kind == kind)
        .unwrap();
    let version = &definition.spec.versions[0];
    serde_json::to_value(
        version
            .schema
            .as_ref()
            .unwrap()
            .open_api_v3_schema
            .as_ref()
            .unwrap(),
    )
    .unwrap()
}

fn undescribed(schema: &Value, path: &str, found: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let description = field["description"].as_str().unwrap_or_default();
        if description.trim().len() < 10 || description.contains("Auto-generated") {
            found.push(path.clone());
        }
        undescribed(field, &path, found);
        undescribed(&field["items"], &path, found);
    }
}

#[test]
fn every_field_is_explained() {
    for kind in ["IP", "IPBlock", "IPNode"] {
        let schema = schema(kind);
        let mut found = Vec::new();
        undescribed(&schema, kind, &mut found);
        assert!(found.is_empty(), "without a description: {found:?}");
        assert!(schema["description"].as_str().unwrap().starts_with("An IP"));
    }
}

#[test]
fn the_names_for_kubectl_are_as_documented() {
    let [ip, block, _] = definitions();
    let names = &ip.spec.names;
    assert_eq!(
        (names.plural.as_str(), names.singular.as_deref()),
        ("ips", Some("ip"))
    );
    assert_eq!(names.short_names.as_deref(), Some(&["sip".to_owned()][..]));
    for kind in [&ip, &block] {
        let categories = kind.spec.names.categories.as_deref();
        assert_eq!(categories, Some(&["staticip".to_owned()][..]));
    }
    assert_eq!(ip.spec.scope, "Cluster");
    assert_eq!(
        (block.spec.names.plural.as_str(), block.spec.scope.as_str()),
        ("ipblocks", "Cluster")
    );

    let selectable: Vec<_> = ip.spec.versions[0]
        .selectable_fields
        .iter()
        .flatten()
        .map(|f| f.json_path.clone())
        .collect();
    assert_eq!(
        selectable,
        [".spec.address", ".status.address", ".status.node"]
    );
}

fn columns(kind: &str, wide: bool) -> Vec<String> {
    let definition = definitions()
        .into_iter()
        .find(|d| d.spec.names.kind == kind)
        .unwrap();
    let columns = definition.spec.versions[0]
        .additional_printer_columns
        .clone()
        .unwrap();
    let shown = columns
        .into_iter()
        .filter(|c| (c.priority.unwrap_or(0) > 0) == wide);
    shown.map(|c| c.name.to_uppercase()).collect()
}

#[test]
fn the_columns_follow_the_conventions() {
    assert_eq!(
        columns("IP", false),
        [
            "ADDRESS", "READY", "CLAIMED", "ASSIGNED", "POD", "NODE", "AGE"
        ]
    );
    assert_eq!(
        columns("IP", true),
        ["BLOCK", "REASON", "ENI", "LAST-MOVED"]
    );
    let block = [
        "CIDR", "SUBNET", "CAPACITY", "RESERVED", "ATTACHED", "FREE", "READY", "AGE",
    ];
    assert_eq!(columns("IPBlock", false), block);
}
