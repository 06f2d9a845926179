//! Rights: the API server never forbids a request of Mooring (with its own `ServiceAccount`), and no other client
//! writes its condition. The judge checks this after every scene. Here it is checked for all requests of the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use mooring_cluster::AuditEvent;
use serde_json::{Value, json};

use crate::harness::expectations::GATE;
use crate::harness::judge::in_order;
use crate::harness::judge::rules::is_end;
use crate::harness::scene::Scene;

scenes![
    shared mooring_has_every_right_it_uses_and_only_mooring_writes_its_gate,
    shared mooring_is_not_a_cluster_administrator,
];

impl Scene {
    /// No request of Mooring was forbidden, and no other client wrote its condition.
    pub async fn judge_rights(&self, audit: &[AuditEvent]) {
        if self.rights_were_away.load(Ordering::Relaxed) {
            return foreign_gates(audit);
        }
        forbidden(audit);
        foreign_gates(audit);
        for mooring in self.test_cluster.replicas.lock().await.iter() {
            let log = mooring.log();
            let reported = log.lines().find(|line| line.contains(" is forbidden: "));
            assert!(
                reported.is_none(),
                "{}: {}",
                mooring.process().log_path().display(),
                reported.unwrap_or_default()
            );
        }
    }
}

fn forbidden(audit: &[AuditEvent]) {
    let refused = audit
        .iter()
        .find(|event| event.by_mooring() && event.code == 403 && !of_terminating_namespace(event));
    assert!(
        refused.is_none(),
        "Mooring was forbidden something: {refused:#?}"
    );
}

/// Is it an Event in a namespace that is being deleted? The refusal of such an Event shows no missing right.
fn of_terminating_namespace(event: &AuditEvent) -> bool {
    let only = ["NamespaceTerminating"];
    event.resource == "events" && event.verb == "create" && event.causes == only
}

/// Only a write of Mooring changes the condition.
fn foreign_gates(audit: &[AuditEvent]) {
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    // The response to the deletion of a pod can show a state before our last write, so it is ignored.
    let pods = audit
        .iter()
        .filter(|event| event.resource == "pods" && event.is_write() && !is_end(event));
    for event in pods {
        let Some(uid) = event.response["metadata"]["uid"].as_str() else {
            continue;
        };
        let conditions = event.response["status"]["conditions"].as_array();
        let gate = conditions
            .into_iter()
            .flatten()
            .find(|condition| condition["type"] == GATE);
        let gate = gate.cloned().unwrap_or_default();
        let before = known
            .insert(uid.to_owned(), gate.clone())
            .unwrap_or_default();
        assert!(
            before == gate || event.by_mooring(),
            "{} changed the condition {GATE} of pod {} from {before} to {gate}",
            event.user,
            event.name
        );
    }
}

/// Does one of each: an attach, a waiting pod, a move, a release, a deletion, a refusal.
async fn everything(scene: &Scene) {
    let block = scene.block().await;
    let nodes = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&nodes.0.name, &block).await;
    scene.expect_labelled(&nodes.1.name, &block).await;
    let ip = scene.ip("web", 10).await;
    let allocated = scene.allocated("allocated", &block).await;
    scene.deployment("web", &ip).await;
    let first = scene.only_pod("web").await;
    scene.expect_attached(&ip, &first).await;
    scene.pod("second", &ip).await;
    scene.expect_event("ClaimedByOther", "second").await;
    scene.delete("Pod", "second").await;
    scene.expect_pod_gone("second").await;
    scene.roll_out("web", &json!({})).await;
    let next = scene.new_pod("web", &[&first]).await;
    scene.expect_attached(&ip, &next).await;
    scene.pod("other", &allocated).await;
    scene.expect_attached(&allocated, "other").await;
    let change = json!({"metadata": {"annotations": {"ip.wgtwo.com/ip": null}}});
    scene.patch("Pod", "other", &change).await;
    scene.expect_detached(&allocated).await;
    scene.delete("IP", &allocated.name).await;
    scene.expect_gone(&allocated).await;
    let unknown = scene.pod_asking("unknown", "nobody", &json!({}));
    scene
        .would_create(&unknown)
        .await
        .rejected(&["may not use it"]);
}

/// The API groups whose reads are in the audit log too (`tests/control-plane/audit-policy.yaml`).
const LOGGED: [&str; 4] = ["ip.wgtwo.com", "networking.k8s.io", "", "apps"];

/// Every right that `config/rbac` gives in these groups, as `group/resource: verb`.
fn given() -> BTreeSet<String> {
    let folder = mooring_cluster::repository().join("config/rbac");
    let mut given = BTreeSet::new();
    for file in std::fs::read_dir(folder).expect("it is there").flatten() {
        let text = std::fs::read_to_string(file.path()).expect("it can be read");
        let role: Value = serde_yaml::from_str(&text).expect("it is YAML");
        let words = |value: &Value| -> Vec<String> {
            let words = value.as_array().into_iter().flatten();
            words
                .filter_map(|word| word.as_str().map(str::to_owned))
                .collect()
        };
        for rule in role["rules"].as_array().into_iter().flatten() {
            let groups = words(&rule["apiGroups"]).into_iter();
            for group in groups.filter(|group| LOGGED.contains(&group.as_str())) {
                for resource in words(&rule["resources"]) {
                    // A watch is in the audit log only after it has ended.
                    let verbs = words(&rule["verbs"]).into_iter();
                    for verb in verbs.filter(|verb| verb != "watch") {
                        given.insert(format!("{group}/{resource}: {verb}"));
                    }
                }
            }
        }
    }
    given
}

fn used(audit: &[AuditEvent]) -> BTreeSet<String> {
    let ours = audit.iter().filter(|event| event.by_mooring());
    ours.map(|event| {
        let part = match event.subresource.as_str() {
            "" => String::new(),
            part => format!("/{part}"),
        };
        format!("{}/{}{part}: {}", event.group, event.resource, event.verb)
    })
    .collect()
}

async fn mooring_has_every_right_it_uses_and_only_mooring_writes_its_gate(scene: &Scene) {
    everything(scene).await;
    // The requests of all scenes so far, including those that name no scene: Leases, Events, lists.
    let whole = in_order(scene.cluster().audit());
    scene.judge_rights(&whole).await;
    // The audit log contains enough requests of Mooring.
    assert!(whole.iter().filter(|event| event.by_mooring()).count() > 20);
    let unused: Vec<_> = given().difference(&used(&whole)).cloned().collect();
    assert!(unused.is_empty(), "given, and never used: {unused:#?}");
    let ours = |event: &&AuditEvent| event.by_mooring() && event.condition(GATE).is_some();
    let others = |event: &&AuditEvent| {
        let writes = event.is_write() && event.subresource == "status";
        writes && !event.by_mooring() && event.condition(GATE).is_some()
    };
    assert!(whole.iter().filter(ours).count() >= 4, "Mooring wrote it");
    assert!(
        whole.iter().filter(others).count() >= 1,
        "others write such pods' status as well"
    );
}

async fn mooring_is_not_a_cluster_administrator(scene: &Scene) {
    let mooring = "system:serviceaccount:mooring-system:mooring";
    let can = async |what: &str| scene.can(mooring, what).await;
    for what in [
        "watch pods -A",
        "patch ips.ip.wgtwo.com --subresource=status",
        "delete ipaddresses.networking.k8s.io",
    ] {
        assert!(can(what).await, "{what}");
    }
    for what in [
        "get secrets -A",
        "create pods -A",
        "delete pods -A",
        "delete ips.ip.wgtwo.com",
        "delete ipblocks.ip.wgtwo.com",
        "delete nodes",
        "update customresourcedefinitions.apiextensions.k8s.io",
        "update mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "update deployments.apps -A",
        "create pods --subresource=exec -A",
        "update leases.coordination.k8s.io -n kube-system",
        "impersonate users",
    ] {
        assert!(!can(what).await, "{what}");
    }
}
