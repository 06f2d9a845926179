//! Subnets, nodes and their interfaces; and how a node fails.

mod failure;
mod spec;
mod subnet;

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node as KubeNode;
use kube::Api;
use serde_json::{Value, json};

pub use spec::{InterfaceSpec, NodeSpec};
pub use subnet::Subnet;

use crate::cluster::Cluster;
use crate::ec2::{REGION, element};

/// A node that was added.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name of the Node.
    pub name: String,
    /// `i-...`, also in its `spec.providerID`.
    pub instance_id: String,
    /// Its primary interface.
    pub primary_interface: String,
    /// Its primary address, which is the `InternalIP` of the Node.
    pub address: String,
    /// The requested interfaces, in the order of the request: `eni-...`
    pub interfaces: Vec<String>,
}

impl Cluster {
    /// Makes an instance with its interfaces, and the Node that its kubelet would register.
    pub async fn add_node(&self, spec: NodeSpec) -> Node {
        let primary = match &spec.primary_subnet {
            Some(subnet) => subnet.id.clone(),
            None => self.node_subnet().await.id,
        };
        let answer = self
            .ec2()
            .call(
                "RunInstances",
                &[
                    ("ImageId", "ami-00000000"),
                    ("MinCount", "1"),
                    ("MaxCount", "1"),
                    ("InstanceType", &spec.instance_type),
                    ("SubnetId", &primary),
                ],
            )
            .await;
        let instance_id = element(&answer, "instanceId").expect("RunInstances answers with an id");
        let primary_interface = element(&answer, "networkInterfaceId").unwrap_or_default();
        let address = element(&answer, "privateIpAddress").unwrap_or_default();
        let mut interfaces = Vec::new();
        for (position, interface) in spec.interfaces.iter().enumerate() {
            interfaces.push(
                self.add_interface(&instance_id, position + 1, interface)
                    .await,
            );
        }
        let node = Node {
            name: spec.name.clone(),
            instance_id,
            primary_interface,
            address,
            interfaces,
        };
        self.register(&node, &spec).await;
        node
    }

    /// Makes an interface and attaches it to an instance at that device index. Returns its id.
    pub async fn add_interface(
        &self,
        instance: &str,
        device_index: usize,
        spec: &InterfaceSpec,
    ) -> String {
        let primary = spec.subnet.next_primary();
        let mut parameters = vec![
            ("SubnetId".to_owned(), spec.subnet.id.clone()),
            ("PrivateIpAddress".to_owned(), primary),
        ];
        for (position, (key, value)) in (1..).zip(&spec.tags) {
            parameters.push((
                "TagSpecification.1.ResourceType".to_owned(),
                "network-interface".to_owned(),
            ));
            parameters.push((
                format!("TagSpecification.1.Tag.{position}.Key"),
                key.clone(),
            ));
            parameters.push((
                format!("TagSpecification.1.Tag.{position}.Value"),
                value.clone(),
            ));
        }
        parameters.dedup();
        let parameters: Vec<(&str, &str)> = parameters
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        let answer = self.ec2().call("CreateNetworkInterface", &parameters).await;
        let interface = element(&answer, "networkInterfaceId")
            .expect("CreateNetworkInterface answers with an id");
        let index = device_index.to_string();
        let parameters = [
            ("NetworkInterfaceId", interface.as_str()),
            ("InstanceId", instance),
            ("DeviceIndex", index.as_str()),
        ];
        self.eventually(
            "the instance takes an interface",
            Duration::from_secs(30),
            || self.ec2().try_call("AttachNetworkInterface", &parameters),
        )
        .await;
        interface
    }

    /// Registers a Node for an existing instance, as after a restart of its kubelet with the same name.
    pub async fn register(&self, node: &Node, spec: &NodeSpec) {
        let object: KubeNode =
            serde_json::from_value(object_of(node, spec)).expect("this is a Node");
        let nodes = self.nodes().await;
        nodes
            .create(&kube::api::PostParams::default(), &object)
            .await
            .unwrap_or_else(|error| panic!("creating node {}: {error}", node.name));
        if spec.wait {
            self.wait_until_ready(&node.name).await;
        }
    }

    /// Registers a Node with only the rights of its kubelet, which may send any content.
    pub async fn register_as_kubelet(&self, node: &Node, spec: &NodeSpec) {
        let user = format!("--as=system:node:{}", node.name);
        let words = ["create", "-f", "-", &user, "--as-group=system:nodes"];
        let object = object_of(node, spec).to_string();
        self.kubectl_with(words, &object).await.success();
        self.wait_until_ready(&node.name).await;
    }

    /// Waits until a node is Ready and has no taint that repels pods.
    pub async fn wait_until_ready(&self, name: &str) {
        let nodes = self.nodes().await;
        self.eventually(
            &format!("node {name} is ready and takes pods"),
            Duration::from_mins(1),
            || async {
                let node = nodes.get(name).await.map_err(|error| error.to_string())?;
                let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
                let conditions = node
                    .status
                    .and_then(|status| status.conditions)
                    .unwrap_or_default();
                let ready = conditions
                    .iter()
                    .any(|condition| condition.type_ == "Ready" && condition.status == "True");
                if ready && taints.is_empty() {
                    Ok(())
                } else {
                    Err(format!("taints {taints:?}, {conditions:?}"))
                }
            },
        )
        .await;
    }

    async fn nodes(&self) -> Api<KubeNode> {
        Api::all(self.client().await)
    }
}

/// The Node object that its kubelet would create.
fn object_of(node: &Node, spec: &NodeSpec) -> Value {
    let mut labels: BTreeMap<String, String> = [
        ("kubernetes.io/hostname", node.name.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        (
            "node.kubernetes.io/instance-type",
            spec.instance_type.as_str(),
        ),
        ("topology.kubernetes.io/region", REGION),
        ("topology.kubernetes.io/zone", &format!("{REGION}a")),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    labels.extend(spec.labels.clone());
    let capacity = json!({"cpu": "64", "memory": "256Gi", "pods": spec.pods.to_string()});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node.name,
            "labels": labels,
            "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"providerID": format!("aws:///{REGION}a/{}", node.instance_id)},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [{"type": "InternalIP", "address": node.address}],
        },
    })
}
