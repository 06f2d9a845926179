//! Nodes of the test cluster: each is an instance with interfaces, and its kubelet can fail.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use mooring_cluster::{Fault, FaultId, NodeSpec, run};
use serde_json::json;

use crate::{LIMIT, cluster};

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
