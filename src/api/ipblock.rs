//! The kind `IPBlock`: addresses that a company owns, and the subnet that carries them.
#![allow(
    clippy::doc_markdown,
    reason = "kubectl explain shows these lines as they are"
)]

use ipnet::Ipv4Net;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use mooring_plan::address::{Cidr, ParseError};
use mooring_plan::block::BlockRange;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

use super::NodeSpec;
use super::length::length;

/// `spec.failoverAfter` where it is left out.
const FAILOVER_AFTER: &str = "30s";

/// The desired state of an IPBlock.
#[derive(
    CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize,
)]
#[kube(
    group = "ip.wgtwo.com",
    version = "v1alpha1",
    kind = "IPBlock",
    root = "IpBlock",
    plural = "ipblocks",
    singular = "ipblock",
    category = "staticip",
    status = "IpBlockStatus",
    derive = "PartialEq",
    doc = "An IPBlock is a range of addresses that IPs are reserved in, and the EC2 subnet whose \
           network interfaces can carry them.",
    printcolumn(name = "CIDR", type_ = "string", json_path = ".spec.cidr",
        description = "The range"),
    printcolumn(name = "Subnet", type_ = "string", json_path = ".spec.subnetID",
        description = "The EC2 subnet that contains the range"),
    printcolumn(name = "Capacity", type_ = "integer", json_path = ".status.capacity",
        description = "How many addresses can be reserved in all"),
    printcolumn(name = "Reserved", type_ = "integer", json_path = ".status.reserved",
        description = "How many addresses IPs have reserved"),
    printcolumn(name = "Attached", type_ = "integer", json_path = ".status.attached",
        description = "How many of them are on a network interface"),
    printcolumn(name = "Free", type_ = "integer", json_path = ".status.free",
        description = "How many addresses can still be reserved"),
    printcolumn(name = "Ready", type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether addresses of the block can be reserved"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp",
        description = "Time since the block was created"),
    validation = Rule::new("self.metadata.name.size() <= 63")
        .message("the name becomes a label key: give one of at most 63 characters")
)]
#[serde(rename_all = "camelCase")]
pub struct IpBlockSpec {
    /// The range, as a canonical IPv4 CIDR.
    #[schemars(length(max = 49))]
    #[x_kube(
        validation = Rule::new("!isCIDR(self) || cidr(self).ip().family() == 4")
            .message("IPv6 is not supported yet: give an IPv4 CIDR"),
        validation = Rule::new("isCIDR(self)").message(Message::Expression(
            "isIP(self) ? 'has no prefix length: write ' + self + '/32 for this one address' : \
             'must be an IPv4 CIDR, such as 203.0.113.0/24'".into()
        )),
        validation = Rule::new("!isCIDR(self) || cidr(self).masked() == cidr(self)").message(
            // The API server rejects the same text with + as too costly, because it knows no limit for the length of a
            // CIDR.
            Message::Expression("'has bits set behind its prefix: write %s'.format([string(cidr(self).masked())])".into())
        )
    )]
    pub cidr: String,

    /// Addresses or CIDRs of the range that are never reserved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(max = 49)))]
    #[x_kube(
        merge_strategy = ListMerge::Set,
        validation = Rule::new(
            "self.all(e, (isIP(e) && ip(e).family() == 4) || \
             (isCIDR(e) && cidr(e).ip().family() == 4 && cidr(e).masked() == cidr(e)))"
        ).message("each must be an IPv4 address or a canonical IPv4 CIDR")
    )]
    pub excluded: Vec<String>,

    /// The EC2 subnet that contains the range. It cannot be changed: delete the IPs of this block and the block, then
    /// create it again. Deleting an IP takes the address from its pod.
    #[serde(rename = "subnetID")]
    #[schemars(length(max = 24))]
    #[x_kube(
        validation = Rule::new("self == oldSelf")
            .message(
                "the subnet cannot be changed: delete the IPs of this block and the block, then create it again \
                 (deleting an IP takes the address from its pod)"
            ),
        validation = Rule::new("self.matches('^subnet-([0-9a-f]{8}|[0-9a-f]{17})$')")
            .message("must be the id of a subnet, such as subnet-0123456789abcdef0")
    )]
    pub subnet_id: String,

    /// The nodes whose network interfaces may carry the addresses, by labels that an administrator maintains. Left
    /// out: Mooring labels the nodes that can, with ip.wgtwo.com.node-restriction.kubernetes.io/ and the block's name,
    /// and adds a node affinity for that label to pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<NodeSelector>,

    /// Only network interfaces that have all these tags carry the addresses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 50))]
    pub interface_tags: BTreeMap<String, String>,

    /// The namespaces whose pods may have addresses of the block. Left out: none. "*": all of them.
    /// Narrowing it does not take an address from a pod that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 63)))]
    #[x_kube(
        merge_strategy = ListMerge::Set,
        validation = Rule::new("self.all(n, n == '*' || n.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))").message(
            "each must be a namespace's name, of lower-case letters, digits and '-', or '*' for all"
        )
    )]
    pub allowed_namespaces: Option<Vec<String>>,

    /// How long a node may be away before Kubernetes evicts the pods that ask for an address of the block, and before an
    /// address leaves a pod that is being deleted there, such as 30s or 2m. It is added to the time that Kubernetes
    /// needs to detect the failure, about 50 s. New pods get it as tolerationSeconds in place of the default of 300 s;
    /// existing pods keep the value that they were created with.
    #[serde(default = "failover_after")]
    #[schemars(length(max = 16))]
    #[x_kube(
        validation = Rule::new("self.matches('^([0-9]+h)?([0-9]+m)?([0-9]+s)?$') && self.size() > 0")
            .message("must be a length of time in hours, minutes and seconds, such as 30s or 1m30s"),
        // A value with more digits is too long, and duration() may not be able to parse it.
        validation = Rule::new(
            "!self.matches('[0-9]{6}') && \
             (!self.matches('^([0-9]{1,5}[hms])+$') || duration(self) <= duration('24h'))"
        ).message("must not be longer than 24h")
    )]
    pub failover_after: String,

    /// Whether Mooring itself takes a node with an address of the block out of service, by the taint
    /// node.kubernetes.io/out-of-service, when the node is away (its Node is not ready, or its node part does not
    /// report) and EC2 says that its instance is stopped or terminated, or about to be, or that its status checks have
    /// failed for 5 minutes. Kubernetes then deletes every pod of that node by force and detaches its volumes. Left
    /// out: false.
    #[serde(default)]
    pub fast_failover: bool,

    /// What the node part (mooring node) does for the addresses of the block. Left out: nothing; EC2 delivers the
    /// packets to the node, and your host configuration handles them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeSpec>,
}

fn failover_after() -> String {
    FAILOVER_AFTER.to_owned()
}

/// A choice of nodes.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelector {
    /// The labels that a node must have, all of them.
    #[schemars(extend(
        "minProperties" = 1, "maxProperties" = 16,
        "additionalProperties" = {"type": "string", "maxLength": 63}
    ))]
    #[x_kube(
        // The webhook checks the syntax of keys: they have no length limit here, so a pattern would be too costly.
        validation = Rule::new(
            "self.all(k, !k.startsWith('ip.wgtwo.com/') && !k.startsWith('ip.wgtwo.com.node-restriction.kubernetes.io/'))"
        ).message("must choose nodes by labels of your own: leave nodeSelector out, and Mooring labels the nodes"),
        validation = Rule::new(
            "self.all(k, self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$'))"
        ).message("each value must be a label's: letters, digits, '-', '_' and '.', with a letter or digit at both ends")
    )]
    pub match_labels: BTreeMap<String, String>,
}

/// The observed state of an IPBlock.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpBlockStatus {
    /// The subnet's CIDRs, from EC2. AWS reserves the first four addresses and the last one of each.
    #[serde(default, rename = "subnetCIDRs", skip_serializing_if = "Vec::is_empty")]
    pub subnet_cidrs: Vec<String>,

    /// How many addresses can be reserved in all: the range within its subnet, without the excluded addresses and
    /// those that AWS reserves.
    #[serde(default)]
    pub capacity: i64,

    /// How many addresses IPs have reserved.
    #[serde(default)]
    pub reserved: i64,

    /// How many of the reserved addresses are on a network interface.
    #[serde(default)]
    pub attached: i64,

    /// How many addresses others have: they are on a network interface, and no IP has reserved them.
    /// capacity = reserved + foreign + free.
    #[serde(default)]
    pub foreign: i64,

    /// How many addresses can still be reserved.
    #[serde(default)]
    pub free: i64,

    /// How many nodes have a network interface that can carry addresses of the block.
    #[serde(default)]
    pub nodes: i64,

    /// Ready (addresses can be reserved), SharedWithCNI (a network interface is used that the VPC
    /// CNI may manage), OrphanedAddress (an address is on a network interface and no IP explains
    /// it) and BrakeEngaged (too many pods vanished at the same time), each with a message
    /// that says what to do next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// `spec.failoverAfter` is not a duration.
#[derive(Debug, thiserror::Error)]
#[error("spec.failoverAfter \"{text}\" is not a length of time: write it as 30s or 1m30s")]
pub struct FailoverAfterError {
    /// The value.
    pub text: String,
}

impl IpBlockSpec {
    /// The range, without the excluded addresses.
    ///
    /// # Errors
    /// The CIDR or an excluded entry cannot be parsed.
    pub fn range(&self) -> Result<BlockRange, ParseError> {
        BlockRange::parse(&self.cidr, self.excluded.iter().map(String::as_str))
    }

    /// How long a node may be away before an address leaves a pod that is being deleted there.
    ///
    /// # Errors
    /// The value is not a duration.
    pub fn failover_after(&self) -> Result<Duration, FailoverAfterError> {
        let text = if self.failover_after.is_empty() {
            FAILOVER_AFTER
        } else {
            &self.failover_after
        };
        length(text).ok_or_else(|| FailoverAfterError {
            text: text.to_owned(),
        })
    }
}

impl IpBlock {
    /// The CIDRs of the subnet, from the status. Empty until the controller has written the first status. A CIDR that
    /// cannot be parsed is left out.
    #[must_use]
    pub fn subnet_cidrs(&self) -> Vec<Cidr> {
        let cidrs = self
            .status
            .as_ref()
            .map(|status| status.subnet_cidrs.as_slice());
        cidrs
            .unwrap_or_default()
            .iter()
            .filter_map(|cidr| cidr.parse().ok())
            .collect()
    }

    /// The same for the node part, which programs IPv4 only.
    #[must_use]
    pub fn subnet_networks(&self) -> Vec<Ipv4Net> {
        self.subnet_cidrs().into_iter().map(Cidr::ipv4).collect()
    }

    /// Whether it is being deleted.
    #[must_use]
    pub const fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// The labels that a node must have to carry addresses of the block. None: Mooring labels the nodes.
    #[must_use]
    pub fn node_labels(&self) -> Option<&BTreeMap<String, String>> {
        self.spec
            .node_selector
            .as_ref()
            .map(|selector| &selector.match_labels)
    }
}
