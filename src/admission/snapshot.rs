//! A snapshot of the other objects that a verdict depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use mooring_plan::address::Address;
use mooring_plan::admission::address::{KnownBlock, Other, Parent, block_of};
use mooring_plan::names::BlockName;

use super::KnownIp;
use crate::api::IpBlock;

/// The Node that a new pod is already bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BoundNode {
    /// There was no read, or the API server did not answer.
    #[default]
    Unknown,
    /// No Node has this name.
    Absent,
    /// The Node has these labels.
    Labelled(BTreeMap<String, String>),
}

/// Other objects at one moment. Read-only.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    ips: Vec<Arc<KnownIp>>,
    blocks: Vec<Arc<IpBlock>>,
    node: BoundNode,
    parent: Option<Parent>,
}

fn name_of(metadata: &kube::api::ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

impl Snapshot {
    /// A snapshot of these IPs and blocks, in any order.
    #[must_use]
    pub fn new(mut ips: Vec<Arc<KnownIp>>, mut blocks: Vec<Arc<IpBlock>>) -> Self {
        // A verdict must not depend on the order of a cache.
        ips.sort_by(|a, b| a.name.cmp(&b.name));
        blocks.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        Self {
            ips,
            blocks,
            ..Self::default()
        }
    }

    /// Sets the Node of the pod.
    #[must_use]
    pub fn with_node(mut self, node: BoundNode) -> Self {
        self.node = node;
        self
    }

    /// Sets the owner of the address, from its `IPAddress` object. An IP that is gone is none.
    #[must_use]
    pub fn with_parent(mut self, parent: Option<Parent>) -> Self {
        self.parent = parent;
        self
    }

    /// Replaces an `IP` with the version that was just read, or removes it if it does not exist any more.
    #[must_use]
    pub fn with_ip_now(mut self, name: &str, now: Option<Arc<KnownIp>>) -> Self {
        self.ips.retain(|ip| ip.name.as_str() != name);
        self.ips.extend(now);
        self
    }

    /// The `IP` of this name.
    #[must_use]
    pub fn ip(&self, name: &str) -> Option<&KnownIp> {
        self.ips
            .iter()
            .find(|ip| ip.name.as_str() == name)
            .map(AsRef::as_ref)
    }

    /// The `IP` that has this address. If there is none, the one that asks for it.
    #[must_use]
    pub fn ip_at(&self, address: Address) -> Option<&KnownIp> {
        let asks = |ip: &&Arc<KnownIp>| ip.desired == Some(address);
        let has = |ip: &&Arc<KnownIp>| ip.reserved == Some(address);
        self.ips
            .iter()
            .find(has)
            .or_else(|| self.ips.iter().find(asks))
            .map(AsRef::as_ref)
    }

    /// The `IP` that the annotation of a pod means, by name or by address.
    #[must_use]
    pub fn ip_meant(&self, annotation: &str) -> Option<&KnownIp> {
        self.ip(annotation)
            .or_else(|| self.ip_at(annotation.parse().ok()?))
    }

    /// Every `IP`.
    pub fn ips(&self) -> impl Iterator<Item = &KnownIp> {
        self.ips.iter().map(AsRef::as_ref)
    }

    /// The block of this name.
    #[must_use]
    pub fn block(&self, name: &str) -> Option<&IpBlock> {
        self.blocks
            .iter()
            .find(|block| name_of(&block.metadata) == name)
            .map(AsRef::as_ref)
    }

    /// The block that the spec of the IP means. If that is ambiguous, the block that contains its reserved address.
    #[must_use]
    pub fn block_for(&self, ip: &KnownIp) -> Option<&IpBlock> {
        let blocks = self.plan_blocks();
        let meant = block_of(&ip.asked(), &blocks).ok();
        let name = meant.map(|block| &block.name).or(ip.reserved_in.as_ref())?;
        self.block(name.as_str())
    }

    /// The Node of the pod.
    #[must_use]
    pub const fn node(&self) -> &BoundNode {
        &self.node
    }

    /// The owner of the address, from its `IPAddress` object. An IP that is gone is none.
    #[must_use]
    pub const fn parent(&self) -> Option<&Parent> {
        self.parent.as_ref()
    }

    /// The blocks as input of the address rules. A block whose spec cannot be read is left out: it has no addresses.
    #[must_use]
    pub fn plan_blocks(&self) -> Vec<KnownBlock> {
        self.blocks
            .iter()
            .filter_map(|block| plan_block(block))
            .collect()
    }

    /// The IPs as input of the address rules.
    #[must_use]
    pub fn plan_ips(&self) -> Vec<Other> {
        self.ips.iter().map(|ip| ip.as_other()).collect()
    }
}

/// A block as input of the address rules. None: its spec cannot be read.
#[must_use]
pub fn plan_block(block: &IpBlock) -> Option<KnownBlock> {
    Some(KnownBlock {
        name: BlockName::from(name_of(&block.metadata)),
        range: block.spec.range().ok()?,
        subnets: block.subnet_cidrs(),
        deleting: block.is_being_deleted(),
    })
}
