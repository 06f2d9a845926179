//! External events: changes by users, kubelets, other programs and machines.

use mooring_plan::address::Address;
use mooring_plan::names::{InstanceId, InterfaceId, IpName, NodeName, PodKey, ResourceVersion};
use mooring_plan::objects::{Ip, Pod};
use mooring_plan::outcome::Action;
use mooring_world::cloud::Cloud;
use mooring_world::kube::Kube;

/// An event that happens once, in the order of its track.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A pod that admission has changed, bound to its node.
    PodCreated(Pod),
    /// Its containers are ready.
    PodReady(PodKey),
    /// It is being deleted.
    PodDeleted(PodKey),
    /// Its object is removed.
    PodGone(PodKey),
    /// Its annotation is removed.
    Unannotated(PodKey),
    /// The kubelet does not report any more: the node is tainted.
    Unreachable(NodeName),
    /// The object of the Node is deleted, and its machine is terminated.
    NodeGone(NodeName),
    /// The machine is stopped.
    Stopped(NodeName),
    /// The interface is detached from its machine; it keeps its addresses.
    InterfaceDetached(InterfaceId),
    /// The interface is attached to this machine.
    InterfaceAttached(InterfaceId, InstanceId),
    /// The interface is detached and deleted.
    InterfaceDeleted(InterfaceId),
    /// An IP is created.
    IpCreated(Ip),
    /// `spec.address` is edited.
    Edited(IpName, Address),
    /// The IP is deleted.
    IpDeleted(IpName),
    /// A user writes an unrelated annotation on the IP.
    Affected(IpName),
    /// A `ReplicaSet` gets this revision and this number of replicas.
    Revised(String, u64, u64),
    /// A person puts an address on an interface.
    PutManually(Address, InterfaceId),
    /// The IAM policy of the controllers does not permit this action any more.
    PermissionGoes(Action),
    /// The IAM policy of the controllers permits this action again.
    PermissionReturns(Action),
    /// The node part of this node programs again.
    NodePartGoesOn(NodeName),
    /// Another process becomes the leader.
    LeadChanges,
}

impl Event {
    /// Can it happen now? A name can be used only once at a time.
    pub fn is_possible(&self, kube: &Kube) -> bool {
        match self {
            Self::IpCreated(ip) => !kube.ips.contains_key(&ip.name),
            Self::PodCreated(pod) => !kube.pods.contains_key(&pod.key),
            _ => true,
        }
    }

    /// Applies the event. (An object that is gone does not change.)
    pub fn apply(&self, kube: &mut Kube, cloud: &mut Cloud) {
        match self {
            Self::PodCreated(pod) => {
                kube.pods.insert(pod.key.clone(), pod.clone());
            }
            Self::PodReady(key) => kube.change_pod(key, |pod| {
                pod.containers_ready = true;
                pod.containers_running = true;
            }),
            Self::PodDeleted(key) => kube.change_pod(key, |pod| pod.deleting = Some(30)),
            Self::PodGone(key) => {
                kube.pods.remove(key);
            }
            Self::Unannotated(key) => kube.change_pod(key, |pod| pod.annotated = false),
            Self::Unreachable(name) => {
                if let Some(node) = kube.nodes.get_mut(name) {
                    node.ready = false;
                    node.unreachable = true;
                }
            }
            Self::NodeGone(name) => {
                let node = kube.nodes.remove(name);
                if let Some(instance) = node.and_then(|node| node.instance) {
                    cloud.terminate(&instance);
                }
            }
            Self::Stopped(name) => {
                let node = kube.nodes.get(name);
                if let Some(instance) = node.and_then(|node| node.instance.as_ref()) {
                    cloud.stop(instance);
                }
            }
            Self::InterfaceDetached(interface) => cloud.detach(interface),
            Self::InterfaceAttached(interface, instance) => cloud.attach(interface, instance),
            Self::InterfaceDeleted(interface) => cloud.delete_interface(interface),
            Self::IpCreated(ip) => {
                kube.ips.insert(ip.name.clone(), ip.clone());
            }
            Self::Edited(name, address) => {
                kube.change_ip(name, None, |ip| {
                    ip.generation += 1;
                    ip.desired = ip.desired.clone().map(|mut desired| {
                        desired.address = Some(*address);
                        desired
                    });
                });
            }
            Self::IpDeleted(name) => {
                kube.change_ip(name, None, |ip| ip.deleting = true);
            }
            Self::Affected(name) => {
                kube.change_ip(name, None, |ip| {
                    ip.version = ResourceVersion(ip.version.0 + 1);
                });
            }
            Self::Revised(name, revision, replicas) => {
                if let Some(set) = kube.replica_sets.get_mut(name) {
                    set.revision = *revision;
                    set.replicas = *replicas;
                }
            }
            Self::PermissionGoes(action) => cloud.deny(*action),
            Self::PermissionReturns(action) => cloud.permit(*action),
            Self::NodePartGoesOn(name) => kube.pause_node_part(name, false),
            // It changes only the controllers.
            Self::LeadChanges => {}
            Self::PutManually(address, interface) => {
                cloud.put_manually(*address, Some(interface));
            }
        }
    }
}
