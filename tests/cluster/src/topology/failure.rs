//! Node failures, and manual changes of addresses.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::cluster::Cluster;
use crate::ec2::Ec2;

/// A kubelet writes its first lease within this time.
const LEASE: Duration = Duration::from_secs(30);

impl Cluster {
    /// The kubelet of the node stops reporting, while its pods still run. After the grace period the node is
    /// `Ready=Unknown` and has the unreachable taints.
    pub async fn fail_node(&self, name: &str) {
        let leases: Api<Lease> = Api::namespaced(self.client().await, "kube-node-lease");
        // KWOK ignores a node whose Lease has another holder.
        let patch = json!({"spec": {"holderIdentity": "nobody", "leaseDurationSeconds": 86_400}});
        // A kubelet reports that its node is ready before it writes the Lease for the first time.
        self.eventually(
            &format!("the lease of node {name} is taken from its kubelet"),
            LEASE,
            || async {
                let params = PatchParams::default();
                leases.patch(name, &params, &Patch::Merge(&patch)).await
            },
        )
        .await;
    }

    /// The kubelet of a failed node reports again, and ends the pods of the node that were deleted meanwhile.
    pub async fn restore_node(&self, name: &str) {
        let leases: Api<Lease> = Api::namespaced(self.client().await, "kube-node-lease");
        leases
            .delete(name, &DeleteParams::default())
            .await
            .unwrap_or_else(|error| panic!("giving back the lease of node {name}: {error}"));
        // KWOK lists the pods of the node once, when it has created the Lease. It ignores them while its watch of
        // Leases is behind, and looks at a pod again only when the pod changes. A renewal shows that its watch is not
        // behind any more.
        self.lease_is_renewed(name, 1).await;
        let all: Api<Pod> = Api::all(self.client().await);
        let on_the_node = ListParams::default().fields(&format!("spec.nodeName={name}"));
        let pods = all
            .list(&on_the_node)
            .await
            .unwrap_or_else(|error| panic!("listing the pods of node {name}: {error}"));
        for pod in pods {
            let (namespace, pod) = (pod.namespace(), pod.name_any());
            let pods: Api<Pod> = Api::namespaced(
                self.client().await,
                namespace.as_deref().unwrap_or_default(),
            );
            let change = json!({"metadata": {"annotations": {"test.mooring/restored": name}}});
            match pods
                .patch(&pod, &PatchParams::default(), &Patch::Merge(&change))
                .await
            {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => panic!("annotating pod {pod}: {error}"),
            }
        }
    }

    /// The kubelet reports that its node is not ready (`true`), or ready again.
    pub async fn report_node_not_ready(&self, name: &str, not_ready: bool) {
        let value = not_ready.then_some("true");
        let patch = json!({"metadata": {"annotations": {"test.mooring/not-ready": value}}});
        let nodes = self.nodes().await;
        nodes
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap_or_else(|error| panic!("annotating node {name}: {error}"));
    }

    /// Deletes the Node object; the instance runs on.
    pub async fn delete_node(&self, name: &str) {
        let nodes = self.nodes().await;
        nodes
            .delete(name, &DeleteParams::default())
            .await
            .unwrap_or_else(|error| panic!("deleting node {name}: {error}"));
    }

    /// Waits until KWOK has removed the kubelet of a deleted node, so that a node of the same name can be created. KWOK
    /// 0.8.0 keeps a name for one more renewal of its Lease. If the name is created again before, it is in the queue of
    /// KWOK twice, and then KWOK renews no Lease at all. The renewals of another node show the progress.
    pub async fn deleted_nodes_are_forgotten(&self, witness: &str) {
        self.lease_is_renewed(witness, 3).await;
    }

    /// Waits until KWOK has written the Lease of the node, and has renewed it `times`.
    async fn lease_is_renewed(&self, name: &str, times: usize) {
        let leases: Api<Lease> = Api::namespaced(self.client().await, "kube-node-lease");
        let writes = Mutex::new(BTreeSet::new());
        self.eventually(
            &format!("KWOK renews the Lease of node {name}: {times}"),
            LEASE,
            || async {
                let lease = leases.get(name).await.map_err(|error| error.to_string())?;
                let written = lease.spec.and_then(|spec| spec.renew_time);
                let mut writes = writes.lock().map_err(|error| error.to_string())?;
                writes.extend(written.map(|time| time.0));
                if writes.len() > times {
                    Ok(())
                } else {
                    Err(format!("{writes:?}"))
                }
            },
        )
        .await;
    }

    /// Taints a node, as in `kubectl taint`: `node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`. With
    /// `-` at the end, removes the taint.
    pub async fn taint(&self, name: &str, taint: &str) {
        self.kubectl(["taint", "node", name, taint, "--overwrite"])
            .await
            .success();
    }

    /// EC2 stops the instance.
    pub async fn stop_instance(&self, instance: &str) {
        self.ec2()
            .call("StopInstances", &[("InstanceId.1", instance)])
            .await;
    }

    /// EC2 starts a stopped instance.
    pub async fn start_instance(&self, instance: &str) {
        self.ec2()
            .call("StartInstances", &[("InstanceId.1", instance)])
            .await;
    }

    /// EC2 terminates the instance.
    pub async fn terminate_instance(&self, instance: &str) {
        self.ec2()
            .call("TerminateInstances", &[("InstanceId.1", instance)])
            .await;
    }
}

impl Ec2 {
    /// Assigns an address to an interface without Mooring, like a person in the console or the CNI.
    pub async fn assign(&self, interface: &str, address: &str) {
        self.call(
            "AssignPrivateIpAddresses",
            &[
                ("NetworkInterfaceId", interface),
                ("PrivateIpAddress.1", address),
                ("AllowReassignment", "true"),
            ],
        )
        .await;
    }

    /// Unassigns an address from an interface without Mooring.
    pub async fn unassign(&self, interface: &str, address: &str) {
        self.call(
            "UnassignPrivateIpAddresses",
            &[
                ("NetworkInterfaceId", interface),
                ("PrivateIpAddress.1", address),
            ],
        )
        .await;
    }
}
