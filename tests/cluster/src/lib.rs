//! A test environment on loopback: a real Kubernetes control plane (etcd, kube-apiserver,
//! kube-controller-manager, kube-scheduler), KWOK for the nodes and their kubelets, the EC2 emulator, and the
//! built `mooring`. Each is a separate process on free ports.
//!
//! ```no_run
//! use std::time::Duration;
//! use mooring_cluster::{Cluster, ClusterOptions, Mooring, MooringOptions, NodeSpec};
//!
//! # async fn scene() {
//! let cluster = Cluster::start(ClusterOptions::default()).await;
//! let subnet = cluster.add_subnet("203.0.113.0/24").await;
//! let node = cluster.add_node(NodeSpec::new("node-a").interface(&subnet)).await;
//! let mooring = Mooring::start(&cluster, MooringOptions::default()).await;
//!
//! cluster.apply(&format!(
//!     "{{apiVersion: ip.wgtwo.com/v1alpha1, kind: IPBlock, metadata: {{name: partners}},
//!        spec: {{cidr: 203.0.113.0/24, subnetID: {}}}}}", subnet.id)).await;
//! println!("{}", cluster.kubectl(["get", "ipblocks"]).await.stdout);
//!
//! let eni = cluster.eventually("the address is on the node's interface", Duration::from_secs(10), || async {
//!     cluster.ec2().address_on("203.0.113.10").await
//! }).await;
//! assert_eq!(eni, node.interfaces[0]);
//!
//! cluster.fail_node("node-a").await; // its kubelet stops reporting: unreachable after about 20 s
//! mooring.kill9();
//! # }
//! ```
//!
//! KWOK starts pods with the Stages in `tests/control-plane/stages`: they never write a readiness gate, and `Ready`
//! waits for all gates. Annotations of a pod say what its containers do. The head of `pod-start.yaml` lists them.
//!
//! The tests of one process may share a [`Cluster`]: see [`run`]. Every process that a test starts ends together with
//! the test process.
#![allow(
    clippy::doc_markdown,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::panic,
    clippy::unwrap_used
)]

mod apply;
mod audit;
mod cert_manager;
mod cluster;
mod control_plane;
mod count;
mod ec2;
mod eventually;
mod http;
mod kubectl;
mod mooring;
pub mod network;
mod paths;
mod pki;
mod ports;
mod process;
mod proxy;
mod runtime;
mod topology;
mod toxiproxy;
mod webhooks;

pub use audit::AuditEvent;
pub use cert_manager::CertManager;
pub use cluster::{Cluster, ClusterOptions, NAMESPACE};
pub use count::count;
pub use ec2::{
    Calls, Ec2, EmulatorState, Fault, FaultId, HeldCall, Instance, Interface, Mutation, REGION,
};
pub use eventually::{Pauses, Probe, eventually, remains, report_if_close, wait};
pub use http::{HttpAnswer, http_get, http_post, http_send};
pub use kubectl::Output;
pub use mooring::{Mooring, MooringOptions};
pub use paths::{control_plane_binary, repository, target};
pub use pki::{Authority, Leaf};
pub use ports::free_port;
pub use process::Process;
pub use proxy::{ProxiedWrite, Proxy, Rule, RuleId};
pub use runtime::run;
pub use topology::{InterfaceSpec, Node, NodeSpec, Subnet};
pub use toxiproxy::{Toxic, Toxiproxy};
