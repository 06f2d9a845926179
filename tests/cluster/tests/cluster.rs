//! The tests' own ground: what the end-to-end tests rely on, shown without Mooring.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{Patch, PatchParams};
use mooring_cluster::{AuditEvent, Cluster, ClusterOptions, Fault, FaultId, NodeSpec, run};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(30);

/// One cluster for all promises of this file, with a node `good-1`.
async fn cluster() -> &'static Cluster {
    static CLUSTER: tokio::sync::OnceCell<Cluster> = tokio::sync::OnceCell::const_new();
    CLUSTER
        .get_or_init(|| async {
            let cluster = Cluster::start(ClusterOptions {
                manifests: false,
                // Dead nodes are seen sooner than by default, so that this test takes less time.
                node_grace: Duration::from_secs(10),
                ..ClusterOptions::default()
            })
            .await;
            cluster
                .add_node(NodeSpec::new("good-1").label("pool", "good"))
                .await;
            cluster
        })
        .await
}

fn pod(
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
        cluster
            .kubectl([
                "-n",
                "plain",
                "annotate",
                "pod",
                "plain",
                "test.mooring/complete=Succeeded",
            ])
            .await
            .success();
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
        cluster
            .kubectl([
                "-n",
                "moods",
                "annotate",
                "pod",
                "crashing",
                "test.mooring/never-ready-",
            ])
            .await
            .success();
        cluster
            .eventually("it recovers", LIMIT, || {
                has(&pods, "crashing", &["Ready=True"])
            })
            .await;
        cluster
            .kubectl([
                "-n",
                "moods",
                "annotate",
                "pod",
                "crashing",
                "test.mooring/probe-failing=true",
            ])
            .await
            .success();
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

#[test]
fn a_node_with_a_silent_kubelet_is_unreachable_and_its_pods_are_deleted() {
    run(async {
        let cluster = cluster().await;
        cluster.add_namespace("failing").await;
        for name in ["failing-1", "failing-2"] {
            cluster
                .add_node(NodeSpec::new(name).label("pool", "failing"))
                .await;
        }
        let client = cluster.client().await;
        let pods: Api<Pod> = Api::namespaced(client.clone(), "failing");
        let nodes: Api<Node> = Api::all(client);
        cluster
            .apply(
                &json!({
                    "apiVersion": "apps/v1", "kind": "Deployment",
                    "metadata": {"name": "app", "namespace": "failing"},
                    "spec": {
                        "selector": {"matchLabels": {"app": "app"}},
                        "template": {
                            "metadata": {"labels": {"app": "app"}},
                            "spec": {
                                "nodeSelector": {"pool": "failing"},
                                "containers": [{"name": "main", "image": "registry.example/main:1"}],
                                "tolerations": [{
                                    "key": "node.kubernetes.io/unreachable", "operator": "Exists",
                                    "effect": "NoExecute", "tolerationSeconds": 1,
                                }],
                            },
                        },
                    },
                })
                .to_string(),
            )
            .await;
        let ready = || async {
            let all = pods.list(&kube::api::ListParams::default()).await.unwrap();
            all.items
                .into_iter()
                .filter(|pod| pod.metadata.deletion_timestamp.is_none())
                .find(|pod| {
                    let status = pod.status.clone().unwrap_or_default();
                    let conditions = status.conditions.unwrap_or_default();
                    conditions
                        .iter()
                        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
                })
                .map(|pod| {
                    (
                        pod.metadata.name.unwrap(),
                        pod.spec.unwrap().node_name.unwrap(),
                    )
                })
        };
        let (first, home) = cluster
            .eventually("the Deployment's pod is ready", LIMIT, ready)
            .await;

        cluster.fail_node(&home).await;
        cluster
            .eventually(
                "the node has the unreachable taint",
                Duration::from_mins(1),
                || async {
                    let taints = nodes
                        .get(&home)
                        .await
                        .unwrap()
                        .spec
                        .and_then(|spec| spec.taints)
                        .unwrap_or_default();
                    let unreachable = taints.iter().any(|taint| {
                        taint.key == "node.kubernetes.io/unreachable" && taint.effect == "NoExecute"
                    });
                    if unreachable { Ok(()) } else { Err(taints) }
                },
            )
            .await;
        cluster
            .eventually("a successor is ready on the other node", LIMIT, || async {
                ready()
                    .await
                    .filter(|(name, node)| *name != first && *node != home)
            })
            .await;
        let dead = pods.get(&first).await.unwrap();
        assert!(
            dead.metadata.deletion_timestamp.is_some(),
            "no kubelet confirms the end of the pod on the failed node"
        );

        cluster.restore_node(&home).await;
        cluster.wait_until_ready(&home).await;
        cluster
            .eventually(
                "the old pod goes once its kubelet talks again",
                LIMIT,
                || async { pods.get_opt(&first).await.unwrap().is_none() },
            )
            .await;
    });
}

#[test]
fn a_node_is_an_instance_with_its_interfaces() {
    run(async {
        let cluster = cluster().await;
        let subnet = cluster.add_subnet("198.51.100.0/24").await;
        let node = cluster
            .add_node(NodeSpec::new("attached").interface(&subnet))
            .await;
        let listed: Api<Node> = Api::all(cluster.client().await);
        let spec = listed.get("attached").await.unwrap().spec.unwrap();
        assert!(spec.provider_id.unwrap().ends_with(&node.instance_id));
        let ec2 = cluster.ec2();
        let state = ec2.state().await;
        let interface = state
            .network_interfaces
            .iter()
            .find(|interface| interface.network_interface_id == node.interfaces[0])
            .unwrap();
        assert_eq!(
            interface.instance_id.as_deref(),
            Some(node.instance_id.as_str())
        );
        assert_eq!(interface.subnet_id, subnet.id);
        assert_eq!(interface.tags["node.k8s.amazonaws.com/no_manage"], "true");

        ec2.assign(&node.interfaces[0], "198.51.100.10").await;
        assert_eq!(
            ec2.address_on("198.51.100.10").await.as_ref(),
            Some(&node.interfaces[0])
        );
        assert!(ec2.calls().await.of("AssignPrivateIpAddresses") >= 1);

        let fault = ec2
            .fault(Fault::hold_before().address("198.51.100.10"))
            .await;
        let unassign = ec2.unassign(&node.interfaces[0], "198.51.100.10");
        let release = async {
            cluster
                .eventually("the call is held", LIMIT, || async {
                    ec2.held()
                        .await
                        .into_iter()
                        .find(|call| FaultId(call.fault) == fault)
                })
                .await;
            assert!(
                ec2.address_on("198.51.100.10").await.is_some(),
                "it is held before it is executed"
            );
            ec2.release(fault).await;
        };
        tokio::join!(unassign, release);
        assert_eq!(ec2.address_on("198.51.100.10").await, None);
        let actions: Vec<_> = ec2
            .history_of("198.51.100.10")
            .await
            .into_iter()
            .map(|one| one.action)
            .collect();
        assert_eq!(
            actions,
            ["AssignPrivateIpAddresses", "UnassignPrivateIpAddresses"]
        );
    });
}

#[test]
fn a_history_continues_at_its_mark() {
    run(async {
        let cluster = cluster().await;
        let (_, mark) = cluster.audit_since(u64::MAX);
        cluster.add_namespace("history").await;
        cluster
            .apply(&pod("history", "once", "good", &[], &json!({})))
            .await;
        let (events, mark) = cluster.audit_since(mark);
        let made = |event: &AuditEvent| {
            event.namespace == "history" && event.name == "once" && event.user == "admin"
        };
        let event = events.iter().find(|event| made(event)).unwrap();
        assert!(
            event.is_write() && event.resource_version().is_some(),
            "{event:?}"
        );
        assert_eq!(event.request["metadata"]["name"], "once");
        let (later, _) = cluster.audit_since(mark);
        assert!(!later.iter().any(made), "an event is returned once");
    });
}

#[test]
fn a_restart_of_the_api_server_loses_nothing() {
    run(async {
        // One of its own: the other promises would not like to lose theirs.
        let cluster = Cluster::start(ClusterOptions {
            manifests: false,
            ..ClusterOptions::default()
        })
        .await;
        cluster.add_namespace("kept").await;
        cluster.restart_api_server().await;
        let output = cluster
            .kubectl(["get", "namespace", "kept", "-o", "name"])
            .await
            .success();
        assert_eq!(output.trim(), "namespace/kept");
        cluster.add_node(NodeSpec::new("later")).await;
    });
}

#[test]
fn a_kubelet_can_report_that_its_node_is_not_ready() {
    run(async {
        let cluster = cluster().await;
        cluster
            .add_node(NodeSpec::new("moody").label("pool", "moody"))
            .await;
        cluster.report_node_not_ready("moody", true).await;
        let nodes: Api<Node> = Api::all(cluster.client().await);
        cluster
            .eventually("the node is not ready", LIMIT, || async {
                let status = nodes.get("moody").await.unwrap().status.unwrap_or_default();
                let conditions = status.conditions.unwrap_or_default();
                conditions
                    .iter()
                    .any(|condition| condition.type_ == "Ready" && condition.status == "False")
            })
            .await;
        cluster.report_node_not_ready("moody", false).await;
        cluster.wait_until_ready("moody").await;
    });
}
