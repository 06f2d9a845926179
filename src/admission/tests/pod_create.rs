//! A new pod that asks for an address gets exactly what it needs, or a refusal that says what to do.

use json_patch::Patch;
use k8s_openapi::api::core::v1::Pod;
use mooring_plan::admission::tolerations::Defaults;
use serde_json::{Value, json};

use super::{
    accepts, accepts_silently, asking, block, detaching, held, ip, office, partner_a, pod, read,
    rejects, snapshot_of, warns,
};
use crate::admission::pod::{mutate_pod, validate_pod};
use crate::admission::{PluginSettings, Snapshot, Verdict};

pub fn mutate(pod: &Pod, snapshot: &Snapshot) -> Verdict {
    mutate_pod(pod, "shop", snapshot, PluginSettings::default())
}

pub fn validate(pod: &Pod, snapshot: &Snapshot) -> Verdict {
    validate_pod(pod, "shop", snapshot, PluginSettings::default())
}

fn patch(pod: &Pod, snapshot: &Snapshot) -> Value {
    serde_json::to_value(accepts(mutate(pod, snapshot)).patch).unwrap()
}

/// The pod with the changes of this verdict.
fn applied(pod: &Pod, verdict: Verdict) -> Pod {
    let mut object = serde_json::to_value(pod).unwrap();
    let patch = serde_json::to_value(accepts(verdict).patch).unwrap();
    let patch: Patch = serde_json::from_value(patch).unwrap();
    json_patch::patch(&mut object, &patch).unwrap();
    read(object)
}

pub fn patched(pod: &Pod, snapshot: &Snapshot) -> Pod {
    applied(pod, mutate(pod, snapshot))
}

const LABEL: &str = "/metadata/labels/ip.wgtwo.com~1ip";
const REQUIRED: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";

fn marks() -> Vec<Value> {
    vec![
        json!({"op": "add", "path": "/metadata/labels", "value": {"ip.wgtwo.com/ip": "partner-a"}}),
        json!({"op": "add", "path": "/metadata/annotations/ip.wgtwo.com~1ip-uid", "value": "uid-a"}),
        json!({"op": "add", "path": "/spec/readinessGates", "value": [{"conditionType": "ip.wgtwo.com/attached"}]}),
    ]
}

fn on_block() -> Value {
    json!({"key": "ip.wgtwo.com.node-restriction.kubernetes.io/office", "operator": "Exists"})
}

fn selector() -> Value {
    json!({"nodeSelectorTerms": [{"matchExpressions": [on_block()]}]})
}

fn marks_and(more: impl IntoIterator<Item = Value>) -> Value {
    marks().into_iter().chain(more).collect()
}

#[test]
fn a_minimal_pod_gets_label_uid_gate_and_affinity() {
    let affinity =
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector()}});
    let wanted = marks_and([json!({"op": "add", "path": "/spec/affinity", "value": affinity})]);
    assert_eq!(patch(&asking(json!({})), &office()), wanted);
}

#[test]
fn the_annotation_can_be_the_address() {
    let by_address = pod(json!({"ip.wgtwo.com/ip": "203.0.113.7"}), json!({}));
    assert_eq!(
        patch(&by_address, &office()),
        patch(&asking(json!({})), &office())
    );
}

#[test]
fn an_ip_is_found_by_its_allocated_address() {
    let allocated = ip(
        "partner-b",
        "uid-b",
        json!({"block": "office"}),
        json!({"address": "203.0.113.9", "block": "office"}),
    );
    let snapshot = snapshot_of(
        [partner_a(), allocated],
        [block("office", "203.0.113.0/24")],
    );
    let patched = patched(
        &pod(json!({"ip.wgtwo.com/ip": "203.0.113.9"}), json!({})),
        &snapshot,
    );
    assert_eq!(
        patched.metadata.labels.unwrap()["ip.wgtwo.com/ip"],
        "partner-b"
    );
}

#[test]
fn existing_values_stay_and_are_extended() {
    let mut pod = asking(json!({
        "readinessGates": [{"conditionType": "example.com/ready"}],
        "affinity": {"podAntiAffinity": {}, "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
                {},
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]},
            ],
        }}},
    }));
    pod.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
    let terms = format!("{REQUIRED}/nodeSelectorTerms");
    assert_eq!(
        patch(&pod, &office()),
        json!([
            {"op": "add", "path": LABEL, "value": "partner-a"},
            {"op": "add", "path": "/metadata/annotations/ip.wgtwo.com~1ip-uid", "value": "uid-a"},
            {"op": "add", "path": "/spec/readinessGates/-", "value": {"conditionType": "ip.wgtwo.com/attached"}},
            // The second term is empty and matches no node. It must stay empty.
            {"op": "add", "path": format!("{terms}/0/matchExpressions/-"), "value": on_block()},
            {"op": "add", "path": format!("{terms}/2/matchExpressions"), "value": [on_block()]},
        ])
    );
}

#[test]
fn affinity_is_added_at_the_deepest_existing_parent() {
    let none = asking(json!({"affinity": {}}));
    let value = json!({"requiredDuringSchedulingIgnoredDuringExecution": selector()});
    let wanted =
        marks_and([json!({"op": "add", "path": "/spec/affinity/nodeAffinity", "value": value})]);
    assert_eq!(patch(&none, &office()), wanted);

    let preferred = asking(
        json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}),
    );
    let wanted = marks_and([json!({"op": "add", "path": REQUIRED, "value": selector()})]);
    assert_eq!(patch(&preferred, &office()), wanted);
}

pub fn chosen_nodes() -> Snapshot {
    let mut office = block("office", "203.0.113.0/24");
    office.spec.node_selector = Some(read(json!({"matchLabels": {"role": "edge", "zone": "a"}})));
    snapshot_of([partner_a()], [office])
}

#[test]
fn an_administrators_node_selector_is_used_instead_of_our_label() {
    let expressions = json!([
        {"key": "role", "operator": "In", "values": ["edge"]},
        {"key": "zone", "operator": "In", "values": ["a"]},
    ]);
    let value = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}});
    let wanted = marks_and([json!({"op": "add", "path": "/spec/affinity", "value": value})]);
    assert_eq!(patch(&asking(json!({})), &chosen_nodes()), wanted);
}

fn toleration(key: &str, seconds: Option<i64>) -> Value {
    let mut toleration = json!({"key": key, "operator": "Exists", "effect": "NoExecute"});
    if let Some(seconds) = seconds {
        toleration["tolerationSeconds"] = json!(seconds);
    }
    toleration
}

#[test]
fn only_the_plugins_tolerations_become_failover_after() {
    let unreachable = "node.kubernetes.io/unreachable";
    let pod = asking(json!({"tolerations": [
        toleration("node.kubernetes.io/not-ready", Some(300)),
        toleration(unreachable, Some(300)),
        toleration(unreachable, Some(299)),
        toleration(unreachable, None),
        toleration("example.com/mine", Some(300)),
        {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        {"key": unreachable, "operator": "Exists", "tolerationSeconds": 300},
    ]}));
    let changes = patch(&pod, &office());
    let replaced: Vec<_> = changes
        .as_array()
        .unwrap()
        .iter()
        .filter(|op| op["op"] == "replace")
        .collect();
    assert_eq!(
        replaced,
        [
            &json!({"op": "replace", "path": "/spec/tolerations/0/tolerationSeconds", "value": 30}),
            &json!({"op": "replace", "path": "/spec/tolerations/1/tolerationSeconds", "value": 30}),
        ]
    );
}

#[test]
fn each_toleration_is_compared_with_its_own_default() {
    let settings = PluginSettings {
        default_tolerations: Defaults {
            not_ready: 300,
            unreachable: 60,
        },
    };
    let seconds = |given: [i64; 2], failover_after: &str| {
        let mut office = block("office", "203.0.113.0/24");
        office.spec.failover_after = failover_after.to_owned();
        let pod = asking(json!({"tolerations": [
            toleration("node.kubernetes.io/not-ready", Some(given[0])),
            toleration("node.kubernetes.io/unreachable", Some(given[1])),
        ]}));
        let snapshot = snapshot_of([partner_a()], [office]);
        let verdict = mutate_pod(&pod, "shop", &snapshot, settings);
        let tolerations = applied(&pod, verdict).spec.unwrap().tolerations.unwrap();
        [0, 1].map(|index: usize| tolerations[index].toleration_seconds.unwrap())
    };
    assert_eq!(seconds([300, 60], "30s"), [30, 30]);
    // Equal to the default of the other key: it belongs to the user.
    assert_eq!(seconds([60, 300], "30s"), [60, 300]);
    // One of the defaults is what the block asks for.
    assert_eq!(seconds([300, 60], "60s"), [60, 60]);
    assert_eq!(seconds([300, 60], "300s"), [300, 300]);
}

#[test]
fn mutation_is_idempotent_and_passes_the_validation() {
    for snapshot in [office(), chosen_nodes()] {
        let once = patched(
            &asking(
                json!({"tolerations": [toleration("node.kubernetes.io/not-ready", Some(300))]}),
            ),
            &snapshot,
        );
        accepts_silently(mutate(&once, &snapshot));
        accepts_silently(validate(&once, &snapshot));
        // Only the validating review writes it to the audit log, because it sees the final pod.
        assert_eq!(accepts(mutate(&once, &snapshot)).granted, None);
        let granted = accepts(validate(&once, &snapshot)).granted;
        let granted = granted.expect("it is granted");
        assert!(
            granted.contains("IP partner-a (203.0.113.7)") && granted.ends_with("to pod shop/web"),
            "{granted}"
        );
    }
}

#[test]
fn a_pod_without_the_annotation_is_left_alone() {
    let plain = pod(json!({}), json!({}));
    accepts_silently(mutate(&plain, &office()));
    accepts_silently(validate(&plain, &office()));
}

#[test]
fn a_copied_pods_uid_is_replaced() {
    let copied = pod(
        json!({"ip.wgtwo.com/ip": "partner-a", "ip.wgtwo.com/ip-uid": "uid-of-old"}),
        json!({}),
    );
    let patched = patched(&copied, &office());
    assert_eq!(
        patched.metadata.annotations.unwrap()["ip.wgtwo.com/ip-uid"],
        "uid-a"
    );
}

#[test]
fn a_present_holder_is_named_in_a_warning() {
    let of = |ip| snapshot_of([ip], [block("office", "203.0.113.0/24")]);
    warns(
        mutate(&asking(json!({})), &of(held("203.0.113.7"))),
        "is held by pod shop/web",
    );
    let gone = mutate(&asking(json!({})), &of(detaching("203.0.113.7")));
    let text = "the address of IP \"partner-a\" is still being detached (see its conditions): this pod gets it after that";
    assert_eq!(accepts(gone).warnings, [text]);
}

#[test]
fn a_host_network_pod_is_accepted() {
    accepts(mutate(&asking(json!({"hostNetwork": true})), &office()));
}

#[test]
fn a_mutation_that_another_webhook_removed_is_named() {
    let whole = patched(&asking(json!({})), &office());
    let without = |take: fn(&mut Pod)| {
        let mut pod = whole.clone();
        take(&mut pod);
        validate(&pod, &office())
    };
    rejects(
        without(|pod| pod.metadata.labels = None),
        "lost what it needs to have IP \"partner-a\": label",
    );
    rejects(
        without(|pod| pod.spec.as_mut().unwrap().readiness_gates = None),
        "readiness gate",
    );
    rejects(
        without(|pod| pod.spec.as_mut().unwrap().affinity = None),
        "node affinity",
    );
    let lost_uid = |pod: &mut Pod| {
        let annotations = pod.metadata.annotations.as_mut().unwrap();
        annotations.remove("ip.wgtwo.com/ip-uid");
    };
    rejects(without(lost_uid), "ip-uid");
    accepts_silently(validate(&whole, &office()));
}
