//! An independent description of what admission can change in a pod. All other fields of the user must stay unchanged.

use mooring::api::names::{ATTACHED_GATE, IP_LABEL, IP_UID_ANNOTATION};
use serde_json::{Map, Value, json};

use super::world::NODE_LABELS;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
/// The keys of the default tolerations of the plugin `DefaultTolerationSeconds` of Kubernetes.
const PLUGINS: [&str; 2] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
];

/// Checks that nothing of `before` is lost or changed in `after`, and that only allowed fields are added.
pub fn kept(before: &Value, after: &Value) {
    compare(&mut Vec::new(), before, after);
}

fn compare(path: &mut Vec<String>, before: &Value, after: &Value) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => fields(path, before, after),
        (Value::Array(before), Value::Array(after)) => {
            assert!(after.len() >= before.len(), "lost: {path:?}");
            for (index, after) in after.iter().enumerate() {
                path.push("*".to_owned());
                match before.get(index) {
                    Some(before) => compare(path, before, after),
                    None => assert!(may_be_added(path), "added: {path:?}"),
                }
                path.pop();
            }
        }
        // Null is the same as left out.
        (Value::Null, after) if !after.is_null() => assert!(may_be_added(path), "added: {path:?}"),
        _ if before == after => {}
        _ => assert!(
            is_ours(path),
            "{path:?} was changed from {before} to {after}"
        ),
    }
}

fn fields(path: &mut Vec<String>, before: &Map<String, Value>, after: &Map<String, Value>) {
    for key in before.keys() {
        assert!(after.contains_key(key), "lost: {path:?} {key}");
    }
    let plugins = is(path, &["spec", "tolerations", "*"])
        && before.get("tolerationSeconds") == Some(&json!(300))
        && PLUGINS
            .iter()
            .any(|key| before.get("key") == Some(&json!(key)));
    for (key, after) in after {
        path.push(key.clone());
        match before.get(key) {
            Some(_) if plugins && key == "tolerationSeconds" => assert!(after.is_u64(), "{path:?}"),
            Some(before) => compare(path, before, after),
            None => assert!(may_be_added(path), "added: {path:?}"),
        }
        path.pop();
    }
}

fn is(path: &[String], wanted: &[&str]) -> bool {
    path.iter().map(String::as_str).eq(wanted.iter().copied())
}

/// Fields that only Mooring sets.
fn is_ours(path: &[String]) -> bool {
    is(path, &["metadata", "labels", IP_LABEL])
        || is(path, &["metadata", "annotations", IP_UID_ANNOTATION])
}

fn may_be_added(path: &[String]) -> bool {
    let term = [
        "spec",
        "affinity",
        "nodeAffinity",
        REQUIRED,
        "nodeSelectorTerms",
        "*",
        "matchExpressions",
        "*",
    ];
    let places: [&[&str]; 8] = [
        &["metadata", "labels"],
        &["spec", "readinessGates"],
        &["spec", "readinessGates", "*"],
        &term[..2],
        &term[..3],
        &term[..4],
        &term[..7],
        &term,
    ];
    is_ours(path) || places.iter().any(|place| is(path, place))
}

/// Checks that the pod has the gate, and in every non-empty term a label of the nodes of a block.
pub fn given(pod: &Value) {
    let gates = pod["spec"]["readinessGates"].as_array();
    let gate = json!(ATTACHED_GATE);
    assert!(
        gates
            .into_iter()
            .flatten()
            .any(|entry| entry["conditionType"] == gate),
        "no gate: {pod}"
    );
    let terms = &pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"];
    for term in terms.as_array().into_iter().flatten() {
        let parts = ["matchExpressions", "matchFields"]
            .map(|part| term[part].as_array().is_some_and(|list| !list.is_empty()));
        let ours = |expression: &Value| {
            NODE_LABELS.iter().any(|key| expression["key"] == *key)
                && ["In", "Exists"]
                    .iter()
                    .any(|operator| expression["operator"] == *operator)
        };
        let mut expressions = term["matchExpressions"].as_array().into_iter().flatten();
        assert!(
            parts == [false, false] || expressions.any(ours),
            "not steered: {term}"
        );
    }
}
