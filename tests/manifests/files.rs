//! Reads the manifests as the API server reads them.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::{Deserialize as _, DeserializeOwned};
use serde_yaml::Value;

pub const NAMESPACE: &str = "mooring-system";

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every YAML file that users apply.
pub fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("config"), root().join("webhook-certs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

pub fn documents(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    serde_yaml::Deserializer::from_str(&text)
        .map(|document| {
            Value::deserialize(document)
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        })
        .collect()
}

/// Reads the only object of a file strictly: a field that the type does not have is an error.
pub fn object<T: DeserializeOwned + Serialize>(file: &str) -> T {
    let path = root().join(file);
    let [document] = documents(&path)
        .try_into()
        .unwrap_or_else(|_| panic!("{file} is not one document"));
    read(file, &document)
}

pub fn read<T: DeserializeOwned + Serialize>(name: &str, document: &Value) -> T {
    let object: T =
        serde_yaml::from_value(document.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let back = serde_yaml::to_value(&object).unwrap();
    let lost = lost(document, &back, name);
    assert!(
        lost.is_empty(),
        "Kubernetes does not know these fields: {lost:?}"
    );
    object
}

pub fn lost(given: &Value, kept: &Value, at: &str) -> Vec<String> {
    match (given, kept) {
        (Value::Mapping(given), Value::Mapping(kept)) => given
            .iter()
            .flat_map(|(key, value)| {
                let at = format!("{at}.{}", key.as_str().unwrap_or_default());
                kept.get(key)
                    .map_or_else(|| vec![at.clone()], |kept| lost(value, kept, &at))
            })
            .collect(),
        (Value::Sequence(given), Value::Sequence(kept)) => given
            .iter()
            .zip(kept)
            .enumerate()
            .flat_map(|(index, (given, kept))| lost(given, kept, &format!("{at}[{index}]")))
            .collect(),
        _ => Vec::new(),
    }
}
