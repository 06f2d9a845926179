//! A pod that cannot have the address that it asks for is refused at creation, with a message that says what to do.

use serde_json::{Value, json};

use super::pod_create::{chosen_nodes, mutate, patched, validate};
use super::{accepts, asking, block, office, partner_a, pod, read, rejects, snapshot_of};
use crate::admission::BoundNode;
use crate::api::IpBlock;

#[test]
fn a_missing_ip_and_one_of_another_namespace_look_the_same() {
    let missing = rejects(
        mutate(&asking(json!({})), &snapshot_of([], [])),
        "does not exist, or namespace \"shop\" may not use it",
    );
    let mut closed = partner_a();
    closed.spec.allowed_namespaces = Some(vec!["bank".to_owned()]);
    let mut closed_block = block("office", "203.0.113.0/24");
    closed_block.spec.allowed_namespaces = Some(vec!["bank".to_owned()]);
    let mut deleting = closed.clone();
    deleting.metadata.deletion_timestamp = Some(read(json!("2026-01-01T00:00:00Z")));
    for snapshot in [
        snapshot_of([closed], [block("office", "203.0.113.0/24")]),
        snapshot_of([deleting], [block("office", "203.0.113.0/24")]),
        snapshot_of([partner_a()], [closed_block]),
        snapshot_of([partner_a()], []),
    ] {
        assert_eq!(
            rejects(mutate(&asking(json!({})), &snapshot), "may not use it"),
            missing
        );
    }
}

#[test]
fn a_namespace_that_ip_and_block_allow_can_use_the_ip() {
    let (mut open, mut office) = (partner_a(), block("office", "203.0.113.0/24"));
    open.spec.allowed_namespaces = Some(vec!["shop".to_owned()]);
    office.spec.allowed_namespaces = Some(vec!["bank".to_owned(), "shop".to_owned()]);
    accepts(mutate(&asking(json!({})), &snapshot_of([open], [office])));
}

/// Found by fuzzing: the patch of such a pod could not be applied.
#[test]
fn a_pod_without_a_spec_is_refused_with_a_reason() {
    let mut bare = asking(json!({}));
    bare.spec = None;
    rejects(mutate(&bare, &office()), "pod shop/web has no spec");
}

#[test]
fn an_ip_that_is_being_deleted_is_not_assigned() {
    let mut deleting = partner_a();
    deleting.metadata.deletion_timestamp = Some(read(json!("2026-01-01T00:00:00Z")));
    let snapshot = snapshot_of([deleting], [block("office", "203.0.113.0/24")]);
    rejects(
        mutate(&asking(json!({})), &snapshot),
        "is being deleted: name another IP",
    );
}

#[test]
fn daemon_set_and_static_pods_are_refused() {
    let owned = |kind: &str, version: &str| {
        let mut pod = asking(json!({}));
        let owner = json!([{"apiVersion": version, "kind": kind, "name": "x", "uid": "u", "controller": true}]);
        pod.metadata.owner_references = Some(read(owner));
        pod
    };
    rejects(
        mutate(&owned("DaemonSet", "apps/v1"), &office()),
        "belongs to a DaemonSet",
    );
    rejects(
        mutate(&owned("Node", "v1"), &office()),
        "mirrors a static pod",
    );
    let mirror = pod(
        json!({"ip.wgtwo.com/ip": "partner-a", "kubernetes.io/config.mirror": "x"}),
        json!({}),
    );
    rejects(mutate(&mirror, &office()), "mirrors a static pod");
    accepts(mutate(&owned("ReplicaSet", "apps/v1"), &office()));
    accepts(mutate(&owned("DaemonSet", "example.com/v1"), &office()));
}

#[test]
fn a_preset_node_must_belong_to_the_block() {
    let bound = asking(json!({"nodeName": "node-1"}));
    let seen = |labels: Value| office().with_node(BoundNode::Labelled(read(labels)));
    rejects(
        mutate(&bound, &seen(json!({}))),
        "is not a node of IPBlock \"office\"",
    );
    rejects(
        mutate(&bound, &office().with_node(BoundNode::Absent)),
        "which does not exist",
    );
    accepts(mutate(
        &bound,
        &seen(json!({"ip.wgtwo.com.node-restriction.kubernetes.io/office": ""})),
    ));
    accepts(mutate(&bound, &office()));
}

#[test]
fn a_preset_node_passes_before_the_first_inventory() {
    let mut unseen: IpBlock = block("office", "203.0.113.0/24");
    unseen.status = None;
    let snapshot =
        snapshot_of([partner_a()], [unseen]).with_node(BoundNode::Labelled(read(json!({}))));
    accepts(mutate(&asking(json!({"nodeName": "node-1"})), &snapshot));
}

fn required(terms: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}

#[test]
fn a_placement_that_contradicts_the_block_is_refused() {
    let elsewhere = json!([{"key": "role", "operator": "In", "values": ["batch"]}]);
    let away = json!([{"key": "ip.wgtwo.com.node-restriction.kubernetes.io/office", "operator": "DoesNotExist"}]);
    rejects(
        mutate(
            &asking(json!({"nodeSelector": {"role": "batch"}})),
            &chosen_nodes(),
        ),
        "labelled role=edge",
    );
    rejects(
        mutate(
            &asking(required(json!([{"matchExpressions": elsewhere}]))),
            &chosen_nodes(),
        ),
        "labelled role=edge",
    );
    rejects(
        mutate(
            &asking(required(json!([{"matchExpressions": away}]))),
            &office(),
        ),
        "may not run on nodes",
    );
    // One matching term is enough.
    let fits = json!([{"key": "role", "operator": "Exists"}]);
    accepts(mutate(
        &asking(required(
            json!([{"matchExpressions": elsewhere}, {"matchExpressions": fits}]),
        )),
        &chosen_nodes(),
    ));
    accepts(mutate(
        &asking(json!({"nodeSelector": {"role": "edge", "disk": "ssd"}})),
        &chosen_nodes(),
    ));
}

#[test]
fn an_unknown_handover_value_is_refused() {
    let with = |handover: &str| {
        pod(
            json!({"ip.wgtwo.com/ip": "partner-a", "ip.wgtwo.com/handover": handover}),
            json!({}),
        )
    };
    rejects(
        mutate(&with("ready"), &office()),
        "write \"containers-ready\" or \"running\"",
    );
    accepts(mutate(&with("running"), &office()));
    accepts(mutate(&with("containers-ready"), &office()));
}

#[test]
fn a_pod_from_a_template_has_no_name_yet() {
    let mut pod = asking(json!({"nodeName": "node-1"}));
    pod.metadata.name = None;
    pod.metadata.generate_name = Some("web-".to_owned());
    rejects(
        mutate(&pod, &office().with_node(BoundNode::Absent)),
        "pod shop/web-* is bound",
    );
}

#[test]
fn a_pod_that_lacks_what_mooring_adds_has_lost_it() {
    let whole = patched(&asking(json!({})), &office());
    let bare = asking(json!({}));
    let mut only_label = bare.clone();
    only_label
        .metadata
        .labels
        .clone_from(&whole.metadata.labels);
    let mut only_uid = bare.clone();
    only_uid
        .metadata
        .annotations
        .clone_from(&whole.metadata.annotations);
    let mut only_gate = bare.clone();
    only_gate.spec.as_mut().unwrap().readiness_gates = whole.spec.unwrap().readiness_gates;
    for pod in [bare, only_label, only_uid, only_gate] {
        rejects(validate(&pod, &office()), "has lost what it needs");
    }
}
