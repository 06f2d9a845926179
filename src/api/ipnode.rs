//! The kind `IPNode`: what the node part of one node has programmed.
#![allow(
    clippy::doc_markdown,
    clippy::duplicated_attributes,
    reason = "kubectl explain shows these lines as they are, and two columns are dates"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Empty: the node part only reports, in the status.
#[derive(
    CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize,
)]
#[kube(
    group = "ip.wgtwo.com",
    version = "v1alpha1",
    kind = "IPNode",
    root = "IpNode",
    plural = "ipnodes",
    singular = "ipnode",
    category = "staticip",
    status = "IpNodeStatus",
    derive = "PartialEq",
    doc = "An IPNode shows what the node part (mooring node) of the node with the same name has programmed. Only \
           the node part writes it.",
    printcolumn(
        name = "Version",
        type_ = "string",
        json_path = ".status.version",
        description = "The version of the node part"
    ),
    printcolumn(
        name = "Heartbeat",
        type_ = "date",
        json_path = ".status.heartbeatTime",
        description = "Time since the node part last reported"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since the IPNode was created"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct IpNodeSpec {}

/// What the node part has programmed.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpNodeStatus {
    /// The version of the node part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// The boot of the node that this describes: /proc/sys/kernel/random/boot_id. While status.nodeInfo.bootID of the
    /// Node is another one, nothing here counts.
    #[serde(rename = "bootID", default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,

    /// When the node part last reported. After 30 s without a report it counts as away, for fast failover after 15 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat_time: Option<Time>,

    /// The addresses that IPs have on this node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["ip".into()]))]
    pub addresses: Vec<ProgrammedAddress>,
}

/// One address on the node.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgrammedAddress {
    /// The name of the IP.
    pub ip: String,

    /// The address.
    pub address: String,

    /// The UID of the pod that it is programmed for.
    #[serde(rename = "podUID")]
    pub pod_uid: String,

    /// The claim that it is programmed for: claimID of the IP's status.
    pub claim: String,

    /// Programmed: packets pass. Waiting: something that the node part does not do itself is missing. Failed: it
    /// cannot be programmed as things are. Unsupported: the network of the node or of this pod does not allow it.
    pub state: String,

    /// What is missing, and what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// What the target of the block's probe sees. Left out: no probe, or nothing found yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbedAddress>,
}

/// What the target of a probe sees.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbedAddress {
    /// The target, as in the spec of the block.
    pub target: String,

    /// The source address that the target saw. Left out: the target did not send one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,

    /// The round trip of the attempt that led to this outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_milliseconds: Option<i64>,

    /// Why the address is not verified, and what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
