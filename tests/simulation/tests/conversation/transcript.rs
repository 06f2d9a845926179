//! The transcript of a conversation, without the parts that always differ between two servers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// An answer, or an event of a watch.
pub struct Line {
    request: String,
    code: u16,
    body: Value,
}

impl Line {
    pub fn new(request: &str, code: u16, body: Value) -> Self {
        // Versions in a query are different for each server.
        let request = request
            .split_inclusive(['?', '&', ' '])
            .filter(|part| !part.starts_with("resourceVersion=") && !part.starts_with("continue="))
            .collect();
        Self {
            request,
            code,
            body,
        }
    }

    fn object(&self) -> &Value {
        let event = self
            .body
            .get("object")
            .filter(|_| self.request.starts_with("WATCH"));
        event.unwrap_or(&self.body)
    }
}

/// The normalized lines: UIDs are numbered in order of appearance, times are removed, and each version is replaced by
/// its rank: the number of object versions in the conversation that are not newer.
pub fn written(lines: &[Line]) -> Vec<String> {
    let mut names = Names::default();
    for line in lines {
        names.learn(line.object());
    }
    lines
        .iter()
        .map(|line| {
            let mut body = line.body.clone();
            names.plain(&mut body, "");
            format!("{} -> {} {body}", line.request, line.code)
        })
        .collect()
}

#[derive(Default)]
struct Names {
    uids: BTreeMap<String, usize>,
    versions: BTreeSet<u64>,
}

impl Names {
    fn learn(&mut self, object: &Value) {
        if let Some(items) = object["items"].as_array() {
            for item in items {
                self.learn(item);
            }
            return;
        }
        let uid = object["metadata"]["uid"].as_str();
        // The version of a bookmark is not the version of an object.
        let Some(uid) = uid else { return };
        let number = self.uids.len();
        self.uids.entry(uid.to_owned()).or_insert(number);
        if let Some(version) = object["metadata"]["resourceVersion"].as_str() {
            self.versions.insert(version.parse().unwrap());
        }
    }

    fn plain(&self, value: &mut Value, name: &str) {
        match value {
            Value::Object(fields) => {
                trim(fields);
                for (name, value) in fields.iter_mut() {
                    self.plain(value, name);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.plain(item, name)),
            Value::String(text) => {
                if let Some(plain) = self.plain_text(text, name) {
                    *text = plain;
                }
            }
            _ => {}
        }
    }

    fn plain_text(&self, text: &str, name: &str) -> Option<String> {
        match name {
            "resourceVersion" => {
                let version: u64 = text.parse().ok()?;
                Some(format!(
                    "version {}",
                    self.versions.range(..=version).count()
                ))
            }
            "creationTimestamp" | "deletionTimestamp" | "lastTransitionTime" => {
                Some("a time".to_owned())
            }
            "continue" => Some("more".to_owned()),
            "name" if text.starts_with("generated-") => Some(format!("generated-{}", text.len())),
            "uid" => Some(self.named(text)),
            // The following lines are a comparison of Go structures.
            "message" => text
                .lines()
                .next()
                .map(|line| without_numbers(&self.named(line))),
            _ => None,
        }
    }

    fn named(&self, text: &str) -> String {
        self.uids
            .iter()
            .fold(text.to_owned(), |text, (uid, number)| {
                text.replace(uid, &format!("uid {number}"))
            })
    }
}

/// Fields that only the real API server keeps or sets, and that are not needed here.
fn trim(fields: &mut Map<String, Value>) {
    for name in ["managedFields", "causes", "deprecatedSource"] {
        fields.remove(name);
    }
    // Different forms of an absent value.
    fields.retain(|name, value| match value {
        Value::Null => false,
        Value::String(text) => !(name == "continue" && text.is_empty()),
        Value::Object(part) => !(matches!(name.as_str(), "spec" | "status") && part.is_empty()),
        _ => true,
    });
    let keep: &[(&str, &[&str])] = match fields.get("kind").and_then(Value::as_str) {
        Some("Pod") => &[
            ("spec", &["nodeName", "terminationGracePeriodSeconds"]),
            ("status", &["phase", "conditions"]),
        ],
        Some("Node") => &[
            ("spec", &["taints", "providerID"]),
            ("status", &["conditions"]),
        ],
        // This is an item of a list of pods.
        None if fields
            .get("spec")
            .is_some_and(|spec| spec["containers"].is_array()) =>
        {
            &[
                ("spec", &["nodeName", "terminationGracePeriodSeconds"]),
                ("status", &["phase", "conditions"]),
            ]
        }
        Some("ReplicaSet") => &[("spec", &["replicas", "selector"]), ("status", &[])],
        _ => &[],
    };
    for (part, kept) in keep {
        if let Some(Value::Object(part)) = fields.get_mut(*part) {
            part.retain(|name, _| kept.contains(&name.as_str()));
        }
        if fields
            .get(*part)
            .is_some_and(|part| part.as_object().is_some_and(Map::is_empty))
        {
            fields.remove(*part);
        }
    }
}

/// Each number of a message becomes `#`.
fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    for character in text.chars() {
        if !character.is_ascii_digit() {
            plain.push(character);
        } else if !plain.ends_with('#') {
            plain.push('#');
        }
    }
    plain
}
