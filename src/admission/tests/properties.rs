//! For every pod: a second mutation changes nothing, no other part of the pod changes, and every refusal
//! says what to do next.

use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{block, partner_a, read, snapshot_of};
use crate::admission::pod::{mutate_pod, validate_pod};
use crate::admission::{PluginSettings, Snapshot};

const OURS: &str = "ip.wgtwo.com/ip";

fn choose(options: Vec<Value>) -> impl Strategy<Value = Value> {
    proptest::sample::select(options)
}

fn expression() -> impl Strategy<Value = Value> {
    choose(vec![
        json!({"key": "role", "operator": "In", "values": ["edge", "batch"]}),
        json!({"key": "role", "operator": "In", "values": ["edge"]}),
        json!({"key": "role", "operator": "NotIn", "values": ["edge"]}),
        json!({"key": "zone", "operator": "Exists"}),
        json!({"key": "ip.wgtwo.com.node-restriction.kubernetes.io/office", "operator": "Exists"}),
        json!({"key": "ip.wgtwo.com.node-restriction.kubernetes.io/office", "operator": "DoesNotExist"}),
        json!({"key": "cores", "operator": "Gt", "values": ["4"]}),
    ])
}

fn term() -> impl Strategy<Value = Value> {
    (
        proptest::option::of(proptest::collection::vec(expression(), 0..3)),
        any::<bool>(),
    )
        .prop_map(|(expressions, fields)| {
            let mut term = json!({});
            if let Some(expressions) = expressions {
                term["matchExpressions"] = json!(expressions);
            }
            if fields {
                term["matchFields"] =
                    json!([{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]);
            }
            term
        })
}

fn affinity() -> impl Strategy<Value = Option<Value>> {
    let required = proptest::collection::vec(term(), 1..4).prop_map(|terms| {
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
            "preferredDuringSchedulingIgnoredDuringExecution": []}, "podAffinity": {}})
    });
    proptest::option::of(prop_oneof![
        Just(json!({})),
        Just(json!({"nodeAffinity": {}})),
        required
    ])
}

fn toleration() -> impl Strategy<Value = Value> {
    let keys = vec![
        json!("node.kubernetes.io/not-ready"),
        json!("node.kubernetes.io/unreachable"),
        json!("mine"),
    ];
    (
        choose(keys),
        choose(vec![json!(300), json!(30), json!(null)]),
    )
        .prop_map(|(key, seconds)| {
            let mut toleration = json!({"key": key, "operator": "Exists", "effect": "NoExecute"});
            if !seconds.is_null() {
                toleration["tolerationSeconds"] = seconds;
            }
            toleration
        })
}

fn annotations() -> impl Strategy<Value = Value> {
    choose(vec![
        json!({}),
        json!({OURS: "partner-a"}),
        json!({OURS: "partner-a", "ip.wgtwo.com/ip-uid": "old", "ip.wgtwo.com/handover": "running"}),
        json!({OURS: "203.0.113.7", "example.com/more": "x"}),
        json!({OURS: ""}),
        json!({OURS: "nobody"}),
        json!({OURS: "partner-a", "ip.wgtwo.com/handover": "later"}),
    ])
}

fn labels() -> impl Strategy<Value = Option<Value>> {
    proptest::option::of(choose(vec![
        json!({}),
        json!({"app": "web"}),
        json!({OURS: "other", "app": "web"}),
    ]))
}

fn gates() -> impl Strategy<Value = Option<Value>> {
    let (other, ours) = (
        json!({"conditionType": "example.com/x"}),
        json!({"conditionType": "ip.wgtwo.com/attached"}),
    );
    proptest::option::of(choose(vec![
        json!([]),
        json!([other]),
        json!([ours, other]),
    ]))
}

prop_compose! {
    fn pods()(
        annotations in annotations(), labels in labels(), gates in gates(), affinity in affinity(),
        tolerations in proptest::option::of(proptest::collection::vec(toleration(), 0..4)),
        selector in proptest::option::of(choose(vec![json!({"role": "edge"}), json!({"role": "batch"}), json!({"disk": "ssd"})])),
        host_network in any::<bool>(),
    ) -> Value {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"generateName": "web-", "namespace": "shop", "annotations": annotations},
            "spec": {"containers": [{"name": "main", "image": "example/main"}], "hostNetwork": host_network},
        });
        let optional = [("readinessGates", gates), ("affinity", affinity),
            ("tolerations", tolerations.map(Value::from)), ("nodeSelector", selector)];
        for (field, value) in optional {
            if let Some(value) = value {
                pod["spec"][field] = value;
            }
        }
        if let Some(labels) = labels {
            pod["metadata"]["labels"] = labels;
        }
        pod
    }
}

fn snapshots() -> impl Strategy<Value = Snapshot> {
    (any::<bool>(), any::<bool>()).prop_map(|(chosen, there)| {
        let mut office = block("office", "203.0.113.0/24");
        if chosen {
            office.spec.node_selector = Some(read(json!({"matchLabels": {"role": "edge"}})));
        }
        snapshot_of([partner_a()], there.then_some(office))
    })
}

/// The pod without everything that admission may add. Parents that are empty afterwards are removed too,
/// because admission may have created them.
fn rest(mut pod: Value, snapshot: &Snapshot) -> Value {
    let chosen = snapshot
        .block("office")
        .is_some_and(|block| block.node_labels().is_some());
    let wanted = if chosen {
        json!({"key": "role", "operator": "In", "values": ["edge"]})
    } else {
        json!({"key": "ip.wgtwo.com.node-restriction.kubernetes.io/office", "operator": "Exists"})
    };
    if let Some(labels) = pod["metadata"]["labels"].as_object_mut() {
        labels.remove(OURS);
    }
    if let Some(annotations) = pod["metadata"]["annotations"].as_object_mut() {
        annotations.remove("ip.wgtwo.com/ip-uid");
    }
    if let Some(gates) = pod["spec"]["readinessGates"].as_array_mut() {
        gates.retain(|gate| gate["conditionType"] != "ip.wgtwo.com/attached");
    }
    let required = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    for term in pod
        .pointer_mut(required)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(expressions) = term["matchExpressions"].as_array_mut() {
            expressions.retain(|expression| *expression != wanted);
        }
    }
    let plugins = [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ];
    for toleration in pod["spec"]["tolerations"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        if plugins.iter().any(|key| toleration["key"] == *key)
            && toleration["tolerationSeconds"] == 300
        {
            toleration["tolerationSeconds"] = json!(30);
        }
    }
    prune(pod)
}

/// Removes empty objects, empty lists and nulls.
fn prune(value: Value) -> Value {
    let empty = |value: &Value| match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        other => other.is_null(),
    };
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| (key, prune(value)))
            .filter(|(_, value)| !empty(value))
            .collect(),
        Value::Array(items) => items
            .into_iter()
            .map(prune)
            .filter(|item| !empty(item))
            .collect(),
        other => other,
    }
}

/// For each term, whether it matches no node.
fn hopeless(pod: &Pod) -> Vec<bool> {
    let affinity = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.affinity.as_ref())
        .and_then(|a| a.node_affinity.as_ref());
    let required = affinity.and_then(|node| {
        node.required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    let terms = required
        .map(|selector| selector.node_selector_terms.clone())
        .unwrap_or_default();
    let none = |term: &k8s_openapi::api::core::v1::NodeSelectorTerm| {
        term.match_expressions
            .clone()
            .unwrap_or_default()
            .is_empty()
            && term.match_fields.clone().unwrap_or_default().is_empty()
    };
    terms.iter().map(none).collect()
}

proptest! {
    #[test]
    fn a_pod_gets_exactly_the_mutations_it_needs(before in pods(), snapshot in snapshots()) {
        let settings = PluginSettings::default();
        let pod: Pod = read(before.clone());
        let Ok(allowed) = mutate_pod(&pod, "shop", &snapshot, settings) else { return Ok(()) };
        let mut after = before.clone();
        json_patch::patch(&mut after, &allowed.patch).unwrap();
        let changed: Pod = read(after.clone());

        let again = mutate_pod(&changed, "shop", &snapshot, settings).unwrap();
        prop_assert!(again.patch.0.is_empty(), "{:?}", again.patch);
        let validated = validate_pod(&changed, "shop", &snapshot, settings);
        prop_assert!(validated.is_ok(), "{validated:?}");

        prop_assert_eq!(rest(after, &snapshot), rest(before.clone(), &snapshot));
        let hopeless_before = hopeless(&pod);
        if !hopeless_before.is_empty() {
            prop_assert_eq!(hopeless(&changed), hopeless_before);
        }
        if before["metadata"]["annotations"].get(OURS).is_none() {
            prop_assert!(allowed.patch.0.is_empty());
        }
    }

    #[test]
    fn every_refusal_of_a_pod_has_a_next_step(pod in pods(), snapshot in snapshots()) {
        let pod: Pod = read(pod);
        for verdict in [
            mutate_pod(&pod, "shop", &snapshot, PluginSettings::default()),
            validate_pod(&pod, "shop", &snapshot, PluginSettings::default()),
        ] {
            if let Err(denial) = verdict {
                prop_assert!(denial.way_out().len() > 10 && !denial.what().is_empty(), "{denial}");
                prop_assert!(denial.reason().code() >= 400);
            }
        }
    }
}
