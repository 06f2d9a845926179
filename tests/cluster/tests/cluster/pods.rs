//! Pods of the test cluster become ready, not ready, and end as with a real kubelet.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{Patch, PatchParams};
use mooring_cluster::{Cluster, run};
use serde_json::json;

use crate::{LIMIT, cluster};

pub fn pod(
    namespace: &str,
    name: &str,
    pool: &str,
    gates: &[&str],
    annotations: &serde_json::Value,
) -> String {
    let gates: Vec<_> = gates
        .iter()
        .map(|gate| json!({"conditionType": gate}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {
            "readinessGates": gates,
            "nodeSelector": {"pool": pool},
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
        },
    })
    .to_string()
}

async fn annotate(cluster: &Cluster, namespace: &str, pod: &str, annotation: &str) {
    cluster
        .kubectl(["-n", namespace, "annotate", "pod", pod, annotation])
        .await
        .success();
}

/// The statuses of a pod's conditions, as `Type=Status`.
async fn conditions(pods: &Api<Pod>, name: &str) -> Vec<String> {
    let pod = pods.get(name).await.unwrap();
    let conditions = pod
        .status
        .and_then(|status| status.conditions)
        .unwrap_or_default();
    conditions
        .iter()
        .map(|condition| format!("{}={}", condition.type_, condition.status))
        .collect()
}

async fn has(pods: &Api<Pod>, name: &str, wanted: &[&str]) -> Result<(), Vec<String>> {
    let seen = conditions(pods, name).await;
    if wanted
        .iter()
        .all(|condition| seen.iter().any(|other| other == condition))
    {
        Ok(())
    } else {
        Err(seen)
    }
}

#[test]
fn ready_waits_for_the_readiness_gate_and_kubernetes_does_not_set_it() {
    run(async {
        let cluster = cluster().await;
        cluster.add_namespace("gates").await;
        let pods: Api<Pod> = Api::namespaced(cluster.client().await, "gates");
        cluster
            .apply(&pod(
                "gates",
                "gated",
                "good",
                &["example.com/gate"],
                &json!({}),
            ))
            .await;
        cluster
            .eventually("the containers are ready, the pod is not", LIMIT, || {
                has(&pods, "gated", &["ContainersReady=True", "Ready=False"])
            })
            .await;
        for (gate, ready) in [
            ("True", ["Ready=True"]),
            ("False", ["Ready=False"]),
            ("True", ["Ready=True"]),
        ] {
            let patch =
                json!({"status": {"conditions": [{"type": "example.com/gate", "status": gate}]}});
            pods.patch_status("gated", &PatchParams::default(), &Patch::Strategic(&patch))
                .await
                .unwrap();
            cluster
                .eventually("Ready follows the gate", LIMIT, || {
                    has(&pods, "gated", &ready)
                })
                .await;
        }
        for event in cluster
            .audit()
            .iter()
            .filter(|event| event.user == "kwok" && event.namespace == "gates")
        {
            assert!(
                !event.request.to_string().contains("example.com/gate"),
                "the kubelets' stand-in wrote a gate: {}",
                event.request
            );
        }
    });
}

#[test]
fn a_pod_without_a_gate_is_ready_and_ends_after_its_deletion() {
    run(async {
        let cluster = cluster().await;
        cluster.add_namespace("plain").await;
        let pods: Api<Pod> = Api::namespaced(cluster.client().await, "plain");
        cluster
            .apply(&pod("plain", "plain", "good", &[], &json!({})))
            .await;
        cluster
            .eventually("the pod is ready", LIMIT, || {
                has(&pods, "plain", &["Ready=True"])
            })
            .await;
        annotate(cluster, "plain", "plain", "test.mooring/complete=Succeeded").await;
        cluster
            .eventually("the pod has succeeded", LIMIT, || async {
                let phase = pods
                    .get("plain")
                    .await
                    .unwrap()
                    .status
                    .and_then(|status| status.phase);
                if phase.as_deref() == Some("Succeeded") {
                    Ok(())
                } else {
                    Err(phase)
                }
            })
            .await;
        cluster
            .kubectl(["-n", "plain", "delete", "pod", "plain", "--wait=false"])
            .await
            .success();
        cluster
            .eventually("a deleted pod goes", LIMIT, || async {
                pods.get_opt("plain").await.unwrap().is_none()
            })
            .await;
    });
}

#[test]
fn annotations_control_the_readiness_of_containers() {
    run(async {
        let cluster = cluster().await;
        cluster.add_namespace("moods").await;
        let pods: Api<Pod> = Api::namespaced(cluster.client().await, "moods");
        let crashing = json!({"test.mooring/never-ready": "true"});
        cluster
            .apply(&pod("moods", "crashing", "good", &[], &crashing))
            .await;
        let waiting = json!({"test.mooring/ready-when-attached": "true"});
        cluster
            .apply(&pod(
                "moods",
                "waiting",
                "good",
                &["example.com/gate"],
                &waiting,
            ))
            .await;
        for name in ["crashing", "waiting"] {
            cluster
                .eventually("the containers are not ready", LIMIT, || {
                    has(&pods, name, &["ContainersReady=False"])
                })
                .await;
        }
        annotate(cluster, "moods", "crashing", "test.mooring/never-ready-").await;
        cluster
            .eventually("it recovers", LIMIT, || {
                has(&pods, "crashing", &["Ready=True"])
            })
            .await;
        annotate(
            cluster,
            "moods",
            "crashing",
            "test.mooring/probe-failing=true",
        )
        .await;
        cluster
            .eventually("its probe fails", LIMIT, || {
                has(&pods, "crashing", &["ContainersReady=False", "Ready=False"])
            })
            .await;
        let patch =
            json!({"status": {"conditions": [{"type": "example.com/gate", "status": "True"}]}});
        pods.patch_status(
            "waiting",
            &PatchParams::default(),
            &Patch::Strategic(&patch),
        )
        .await
        .unwrap();
        cluster
            .eventually("the gate makes it ready", LIMIT, || {
                has(&pods, "waiting", &["Ready=True"])
            })
            .await;
    });
}
