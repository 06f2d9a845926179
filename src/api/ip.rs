//! The kind `IP`: an address that belongs to a pod.
#![allow(
    clippy::doc_markdown,
    reason = "kubectl explain shows these lines as they are"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use mooring_plan::address::Address;
use mooring_plan::names::{InterfaceId, PodKey};
use serde::{Deserialize, Serialize};

use super::{Route, names};

/// The desired state of an IP.
#[derive(
    CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize,
)]
#[kube(
    group = "ip.wgtwo.com",
    version = "v1alpha1",
    kind = "IP",
    root = "Ip",
    plural = "ips",
    singular = "ip",
    shortname = "sip",
    category = "staticip",
    status = "IpStatus",
    derive = "PartialEq",
    doc = "An IP is a static address that belongs to a pod: it is assigned to the network interface of \
           the node where the pod with the annotation ip.wgtwo.com/ip runs, and moves with the pod.",
    selectable = ".spec.address",
    selectable = ".status.address",
    selectable = ".status.node",
    printcolumn(name = "Address", type_ = "string", json_path = ".status.address",
        description = "The reserved address"),
    printcolumn(name = "Ready", type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether it is reserved, and attached if a pod holds it"),
    printcolumn(name = "Claimed", type_ = "boolean", json_path = ".status.claimed",
        description = "Whether a pod holds it"),
    printcolumn(name = "Assigned", type_ = "boolean", json_path = ".status.assigned",
        description = "Whether it is on the node's network interface"),
    printcolumn(name = "Pod", type_ = "string", json_path = ".status.pod",
        description = "The pod that holds it"),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.node",
        description = "The node where it is or is meant to go"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp",
        description = "Time since the IP was created"),
    printcolumn(name = "Block", type_ = "string", json_path = ".status.block", priority = 1,
        description = "The IPBlock that it is reserved in"),
    printcolumn(name = "Reason", type_ = "string", priority = 1,
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why it is ready or not"),
    printcolumn(name = "ENI", type_ = "string", json_path = ".status.networkInterfaceID",
        priority = 1, description = "The network interface where it is or is meant to go"),
    printcolumn(name = "Last-Moved", type_ = "date", json_path = ".status.lastMoveTime",
        priority = 1, description = "Time since it last moved"),
    validation = Rule::new("self.metadata.name.size() <= 63")
        .message("the name becomes a label value: give one of at most 63 characters"),
    validation = Rule::new(
        "!isIP(self.metadata.name) || (has(self.spec.address) && self.spec.address == self.metadata.name)"
    ).message("a name that is an address must equal spec.address: change one of the two")
)]
#[x_kube(validation = Rule::new("has(self.address) || has(self.block)")
    .message("give an address, or a block that one is allocated from"))]
#[serde(rename_all = "camelCase")]
pub struct IpSpec {
    /// The IPv4 address, in canonical form. When it is left out, the lowest free address of the
    /// block is allocated, and stays the same from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 45))]
    #[x_kube(
        validation = Rule::new("!isIP(self) || ip(self).family() == 4")
            .message("IPv6 is not supported yet: give an IPv4 address"),
        validation = Rule::new("isIP(self) && ip.isCanonical(self)")
            .message("must be an IPv4 address in canonical form, such as 203.0.113.7")
    )]
    pub address: Option<String>,

    /// The name of the IPBlock that contains the address. It can be left out if the address is given and is in exactly
    /// one block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub block: Option<String>,

    /// How the address moves to another node. With false it is unassigned from the old network interface before it is
    /// assigned to the new one, and EC2 refuses a call that would take it from another interface. With true one call
    /// moves it: faster, and without that refusal.
    #[serde(default)]
    pub reassign: bool,

    /// The namespaces whose pods may have the address, if the block allows them too. Left out: none.
    /// "*": every namespace that the block allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 63)))]
    #[x_kube(
        merge_strategy = ListMerge::Set,
        validation = Rule::new("self.all(n, n == '*' || n.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))").message(
            "each must be a namespace's name, of lower-case letters, digits and '-', or '*' for all"
        )
    )]
    pub allowed_namespaces: Option<Vec<String>>,

    /// Networks that are reached with this address, in addition to the routes of the block. They count only if the
    /// block has spec.node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub routes: Vec<Route>,
}

/// The observed state of an IP.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpStatus {
    /// The reserved address. An allocated one is final.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,

    /// The IPBlock that the address is reserved in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,

    /// Whether a pod holds the address.
    #[serde(default)]
    pub claimed: bool,

    /// The pod that holds the address, as namespace/name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,

    /// The UID of the pod that holds the address: a pod of the same name with another UID does not.
    #[serde(default, rename = "podUID", skip_serializing_if = "Option::is_none")]
    pub pod_uid: Option<String>,

    /// Identifies the present claim: each claim has a new value. The node part says for which claim it has programmed
    /// the address.
    #[serde(default, rename = "claimID", skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<String>,

    /// Whether EC2 confirmed that the address is where the fields node, instanceID and
    /// networkInterfaceID say; with false it is only meant to go there.
    #[serde(default)]
    pub assigned: bool,

    /// The name of the node where the address is or is meant to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,

    /// The EC2 instance where the address is or is meant to go. It distinguishes two machines that use the same node
    /// name in sequence.
    #[serde(
        default,
        rename = "instanceID",
        skip_serializing_if = "Option::is_none"
    )]
    pub instance_id: Option<String>,

    /// The EC2 network interface where the address is or is meant to go.
    #[serde(
        default,
        rename = "networkInterfaceID",
        skip_serializing_if = "Option::is_none"
    )]
    pub network_interface_id: Option<String>,

    /// The MAC address of that network interface. The node part finds the interface by it.
    #[serde(
        default,
        rename = "macAddress",
        skip_serializing_if = "Option::is_none"
    )]
    pub mac_address: Option<String>,

    /// The workload of the pod that holds the address or held it last: the pod's Deployment, or else
    /// its controller. When the address is free, pods of this workload come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,

    /// Where the address was assigned before and may still be, the oldest first. Mooring does not unassign an address
    /// from a former place that is not listed here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub previous: Vec<Previous>,

    /// When the address last moved to another place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_move_time: Option<Time>,

    /// The generation of the spec that this status was written for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// A place that EC2 refused. It is skipped until there is room or the node has another network interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,

    /// Reserved (the address is reserved for this IP), Attached (it is on the holder's node), Programmed (the node
    /// part passes packets to the pod; only if the block has spec.node), Verified (the target of the block's probe
    /// sees the address; Ready does not depend on it) and Ready (reserved; if a pod holds it, attached, and programmed
    /// where the block asks for it), each with a message that says what to do next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// What makes pods: a Deployment, or another controller.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// The namespace of its pods.
    pub namespace: String,
    /// The UID of the Deployment or other controller.
    pub uid: String,
}

/// A place where an address was assigned before.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Previous {
    /// The address. After an edit of the spec it differs from the present one.
    pub address: String,
    /// The network interface that may still have it.
    #[serde(rename = "networkInterfaceID")]
    pub network_interface_id: String,
    /// The EC2 instance that the network interface was attached to.
    #[serde(
        default,
        rename = "instanceID",
        skip_serializing_if = "Option::is_none"
    )]
    pub instance_id: Option<String>,
    /// The pod that held it there, as namespace/name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// The UID of the pod that held it there.
    #[serde(default, rename = "podUID", skip_serializing_if = "Option::is_none")]
    pub pod_uid: Option<String>,
}

/// A place that EC2 refused.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refused {
    /// The UID of the pod that the address was meant for.
    #[serde(rename = "podUID")]
    pub pod_uid: String,
    /// The network interface that was refused.
    #[serde(rename = "networkInterfaceID")]
    pub network_interface_id: String,
    /// The reason, as one word.
    pub reason: String,
}

impl Ip {
    /// The address that was reserved for it, if one was.
    #[must_use]
    pub fn reserved_address(&self) -> Option<Address> {
        self.status.as_ref()?.reserved_address()
    }

    /// The pod that holds the address. None: no pod holds it.
    #[must_use]
    pub fn holder(&self) -> Option<PodKey> {
        self.status.as_ref()?.holder()
    }

    /// Whether it is being deleted.
    #[must_use]
    pub const fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// The ENI that the address may be taken from although no status explains it there.
    #[must_use]
    pub fn take_from(&self) -> Option<InterfaceId> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations
            .get(names::TAKE_FROM_ANNOTATION)
            .map(|eni| InterfaceId::from(eni.as_str()))
    }
}

impl IpStatus {
    /// The address that was reserved, if one was.
    #[must_use]
    pub fn reserved_address(&self) -> Option<Address> {
        self.address.as_deref()?.parse().ok()
    }

    /// The pod that holds the address, while one does.
    #[must_use]
    pub fn holder(&self) -> Option<PodKey> {
        let pod = self.pod.as_deref().filter(|_| self.claimed)?;
        PodKey::parse(pod)
    }

    /// Whether the address is being detached from the pod that `pod` names. That pod can be gone.
    #[must_use]
    pub const fn is_detaching(&self) -> bool {
        self.claimed
            && !self.assigned
            && self.node.is_none()
            && self.instance_id.is_none()
            && self.network_interface_id.is_none()
    }

    /// The id of the present claim. None: there is no claim. A claim that was written before ids existed has the id 0.
    #[must_use]
    pub fn present_claim(&self) -> Option<String> {
        let id = self.claim_id.as_deref().unwrap_or("0");
        self.claimed.then(|| id.to_owned())
    }
}
