//! All facts that this process knows, and how they change.
//! Rule: R1.1.
//!
//! `apply(fact)` takes the facts from watches, responses and inventories, in the controller and in a model. Nothing
//! else changes the state. There is no clock: `now` is passed with each fact.

mod address_rows;
mod affected;
mod answered;
mod apply;
mod block_failures;
mod bounds;
mod boxed_map;
mod claims_begun;
mod denials;
mod existence;
mod fact;
mod failed_read;
mod failed_writes;
mod failures;
mod immovable;
mod impaired;
mod index;
mod inventory;
mod lead;
mod limit_unanswered;
mod location;
mod memory;
mod node_pace;
mod node_reports;
mod outage;
mod reservations;
mod sets;
mod subnet;
#[cfg(feature = "timestamps")]
mod timestamps;
mod without_ip;

pub use affected::Affected;
pub(crate) use answered::Answered;
pub(crate) use block_failures::BlockFailures;
pub use bounds::Contradiction;
use boxed_map::BoxedMap;
pub(crate) use claims_begun::ClaimBegun;
pub(crate) use denials::DeniedAction;
pub use fact::{CallError, Fact, Kind, WriteOutcome, Written};
pub(crate) use failures::{Failures, HEALTHY_ATTACH};
pub(crate) use immovable::Immovable;
pub(crate) use impaired::Impaired;
use index::Index;
pub use inventory::Inventory;
pub(crate) use limit_unanswered::LimitUnanswered;
pub use location::Location;
pub(crate) use memory::READ_FRESH;
pub use memory::{Memory, PodSeen};
pub(crate) use node_pace::NodePace;
pub(crate) use node_reports::AWAY;
pub use node_reports::{HEARTBEAT, NodeReportSeen};
pub(crate) use outage::Outage;
use reservations::Reservations;
use sets::Sets;
pub use subnet::SubnetFacts;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::address::Address;
use crate::cloud::InstanceState;
use crate::names::{
    BlockName, DeploymentUid, InstanceId, InstanceType, IpName, IpUid, NodeName, PodKey, PodUid,
    ReplicaSetUid, SubnetId,
};
use crate::objects::{
    Block, BlockSpec, Claim, DataPath, Ip, Node, Pod, ReplicaSet, Reservation, UnreadableIp,
};
use crate::outcome::Action;
use crate::time::Instant;

/// Intervals that a user can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Settings {
    /// Interval of the inventories of each subnet.
    pub inventory_interval: Duration,
}

/// What this process has learned of the cluster and of EC2, with the indexes by which decisions find it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Facts {
    pub(crate) settings: Settings,
    pub(crate) synced: BTreeSet<Kind>,
    /// Set if the API server was restored from a backup. The value is the blocks that a user has confirmed since.
    pub(crate) rolled_back: Option<BTreeSet<BlockName>>,
    pub(crate) ips: BoxedMap<IpName, Ip>,
    /// IPs whose present status cannot be read. The last state that could be read can be in `ips`.
    pub(crate) unreadable: BTreeMap<IpName, UnreadableIp>,
    /// Claims whose write was sent, until an answer or a read shows whether they were written.
    pub(crate) claims_begun: BTreeMap<IpName, ClaimBegun>,
    pub(crate) blocks: BTreeMap<BlockName, Block>,
    /// The failed writes of blocks. Nearly all blocks have none.
    pub(crate) block_failures: BTreeMap<BlockName, BlockFailures>,
    pub(crate) pods: BoxedMap<PodUid, PodSeen>,
    pub(crate) pods_of: Sets<IpName, PodUid>,
    pub(crate) index: Index,
    pub(crate) nodes: BTreeMap<NodeName, NodeSeen>,
    pub(crate) node_reports: BTreeMap<NodeName, NodeReportSeen>,
    /// The pace of questions to EC2 about nodes that are away or back, and of writes of their taints.
    pub(crate) node_paces: BTreeMap<NodeName, NodePace>,
    pub(crate) reservations: Reservations,
    /// Reservations of Mooring that belong to no IP: UID, and since when. Only inventories that began later show
    /// whether the address is on an ENI.
    pub(crate) ownerless: BTreeMap<Address, (String, Instant)>,
    pub(crate) replica_sets: BTreeMap<ReplicaSetUid, Answered<ReplicaSet>>,
    pub(crate) replica_sets_of: Sets<DeploymentUid, ReplicaSetUid>,
    pub(crate) instances: BTreeMap<InstanceId, Answered<Option<InstanceState>>>,
    /// Instances with a failing status check.
    pub(crate) impaired: BTreeMap<InstanceId, Impaired>,
    /// Set if status checks are denied: they are not read again until then.
    pub(crate) checks_denied: Option<Instant>,
    pub(crate) subnets: BTreeMap<SubnetId, SubnetFacts>,
    pub(crate) limits: BTreeMap<InstanceType, u32>,
    /// Types whose limits EC2 did not return.
    pub(crate) limits_unanswered: BTreeMap<InstanceType, LimitUnanswered>,
    pub(crate) memory: BoxedMap<IpName, Memory>,
    /// The failed steps of names that pods ask for and no IP has.
    pub(crate) without_ip: BTreeMap<IpName, Failures>,
    /// IPs that a quorum read did not find, and when. A watch that lags can still show them.
    pub(crate) missed: BTreeMap<IpName, Instant>,
    /// Nodes that are gone: UID, and since when. A watch that lags can still show them.
    pub(crate) lost_nodes: BTreeMap<NodeName, (String, Instant)>,
    pub(crate) reads: Reads,
    /// Pods that this process saw being deleted, ended, unannotated or gone.
    pub(crate) seen_terminating: BTreeSet<PodUid>,
    /// Holders that a quorum read did not find and whose end was not seen, and since when (for the brake).
    pub(crate) missing_holders: BTreeMap<IpName, (PodUid, Instant)>,
    /// The IPs of these, by block.
    pub(crate) missing_holders_in: Sets<BlockName, IpName>,
    /// When this process last began to lead. Answers to earlier requests are not used.
    pub(crate) led_since: Instant,
    /// The actions with an outage now.
    pub(crate) outages: BTreeMap<Action, Outage>,
    /// The last denial of each action in each subnet, until a call of the action is permitted there.
    denials: BTreeMap<(Action, SubnetId), DeniedAction>,
    /// When the last outage ended.
    pub(crate) recovered: Instant,
}

/// Answers to quorum reads. The value `None` is a 404. For some reads only the time is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Reads {
    pub(crate) pods: BTreeMap<PodKey, Answered<Option<Pod>>>,
    pub(crate) ips: BTreeMap<IpName, Answered<Option<IpRead>>>,
    pub(crate) nodes: BTreeMap<NodeName, Instant>,
    pub(crate) replica_sets: BTreeMap<ReplicaSetUid, Instant>,
    pub(crate) reservations: BTreeMap<Address, Answered<Option<Reservation>>>,
    pub(crate) own_reservations: BTreeMap<IpUid, Answered<Vec<Reservation>>>,
    /// IPs with a failed read that waits for its backoff.
    pub(crate) failed: BTreeSet<IpName>,
}

/// The parts of a quorum read of an IP that are needed later. The rest is in [`Facts::ips`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct IpRead {
    pub(crate) uid: IpUid,
    pub(crate) claim: Option<Claim>,
    pub(crate) address: Option<Address>,
}

impl From<&Ip> for IpRead {
    fn from(ip: &Ip) -> Self {
        Self {
            uid: ip.uid.clone(),
            claim: ip.status.claim.clone(),
            address: ip.status.address,
        }
    }
}

/// A Node, and since when it is not ready or back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeSeen {
    /// The Node.
    pub node: Node,
    /// When its present version was first seen.
    pub version_seen: Instant,
    /// When this process first saw it not ready; None if it is ready.
    pub not_ready_since: Option<Instant>,
    /// When this process first saw it ready with our taint `out-of-service`; None if this is not the case.
    pub back_since: Option<Instant>,
}

impl Facts {
    /// Facts without any content.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            synced: BTreeSet::new(),
            rolled_back: None,
            ips: BoxedMap::default(),
            unreadable: BTreeMap::new(),
            claims_begun: BTreeMap::new(),
            blocks: BTreeMap::new(),
            block_failures: BTreeMap::new(),
            pods: BoxedMap::default(),
            pods_of: Sets::default(),
            index: Index::default(),
            nodes: BTreeMap::new(),
            node_reports: BTreeMap::new(),
            node_paces: BTreeMap::new(),
            reservations: Reservations::default(),
            ownerless: BTreeMap::new(),
            replica_sets: BTreeMap::new(),
            replica_sets_of: Sets::default(),
            instances: BTreeMap::new(),
            impaired: BTreeMap::new(),
            checks_denied: None,
            subnets: BTreeMap::new(),
            limits: BTreeMap::new(),
            limits_unanswered: BTreeMap::new(),
            memory: BoxedMap::default(),
            without_ip: BTreeMap::new(),
            missed: BTreeMap::new(),
            lost_nodes: BTreeMap::new(),
            reads: Reads::default(),
            seen_terminating: BTreeSet::new(),
            missing_holders: BTreeMap::new(),
            missing_holders_in: Sets::default(),
            led_since: Instant::START,
            outages: BTreeMap::new(),
            denials: BTreeMap::new(),
            recovered: Instant::START,
        }
    }

    /// The names of the known blocks, in order.
    pub fn block_names(&self) -> impl Iterator<Item = &BlockName> {
        self.blocks.keys()
    }

    /// The pods with the label of an IP of this name.
    pub(crate) fn pods_asking(&self, ip: &IpName) -> impl Iterator<Item = &PodSeen> {
        let pods = self.pods_of.of(ip);
        pods.filter_map(|uid| self.pods.get(uid))
    }

    /// The spec of the block in which the address of an IP is reserved. None: the block is gone or cannot be read.
    pub(crate) fn spec_of(&self, ip: &Ip) -> Option<&BlockSpec> {
        let block = self.blocks.get(ip.status.block.as_ref()?)?;
        block.spec.as_ref().ok()
    }

    /// True if the block of the IP asks for the node part. If the block is gone or cannot be read, the condition of the
    /// claim says whether it did.
    pub(crate) fn asks_for_node_part(&self, ip: &Ip) -> bool {
        self.spec_of(ip).map_or_else(
            || ip.status.conditions.programmed.is_some(),
            |spec| spec.data_path == DataPath::NodePart,
        )
    }

    /// True if a block of this name is known.
    #[must_use]
    pub fn knows_block(&self, name: &BlockName) -> bool {
        self.blocks.contains_key(name)
    }

    /// True if every kind was listed once. Nothing is decided before.
    #[must_use]
    pub fn synced(&self) -> bool {
        Kind::ALL.iter().all(|kind| self.synced.contains(kind))
    }

    /// The names of the known IPs, in order, and then of those that could never be read.
    pub fn ip_names(&self) -> impl Iterator<Item = &IpName> {
        let never = |name: &&IpName| !self.ips.contains_key(*name);
        self.ips.keys().chain(self.unreadable.keys().filter(never))
    }

    /// True if an IP of this name is known, readable or not.
    #[must_use]
    pub fn knows(&self, name: &IpName) -> bool {
        self.ips.contains_key(name) || self.unreadable.contains_key(name)
    }

    /// An IP in its last known state.
    #[must_use]
    pub fn ip(&self, name: &IpName) -> Option<&Ip> {
        self.ips.get(name)
    }

    /// The subnets that blocks name.
    #[must_use]
    pub fn subnets_wanted(&self) -> BTreeSet<SubnetId> {
        self.blocks
            .values()
            .filter_map(|block| block.spec.as_ref().ok())
            .map(|spec| spec.subnet.clone())
            .collect()
    }

    /// When the next inventory of a subnet is due.
    #[must_use]
    pub fn inventory_due(&self, subnet: &SubnetId) -> Instant {
        self.subnets.get(subnet).map_or(Instant::START, |facts| {
            facts.due(self.settings.inventory_interval)
        })
    }
}
