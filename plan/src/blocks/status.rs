//! The status of a block.
//! Rules: R3.6, R5.21, R5.22.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::address::{Address, Cidr};
use crate::decide::not_permitted;
use crate::ec2::{CNI_ROLE, NO_MANAGE};
use crate::facts::{Facts, SubnetFacts};
use crate::names::{InterfaceId, listed};
use crate::objects::{Block, BlockSpec, BlockStatus, Claim, Condition, Ip, Node};
use crate::outcome::{Action, Outcome};
use crate::reason::Reason;
use crate::step::{Notice, Regarding};
use crate::time::Instant;

/// The condition type that says whether addresses of a block can be reserved.
pub(super) const READY: &str = "Ready";
const SHARED_WITH_CNI: &str = "SharedWithCNI";
const ORPHANED_ADDRESS: &str = "OrphanedAddress";

/// A condition of a block, as computed from the facts.
struct Finding {
    kind: &'static str,
    on: bool,
    reason: Reason,
    message: String,
    /// True if an Event is posted too while the condition lasts.
    with_event: bool,
}

impl Facts {
    pub(super) fn block_status(
        &self,
        block: &Block,
        spec: &BlockSpec,
        subnet: Option<&SubnetFacts>,
        ips: &[&Ip],
        carriers: &[(&Node, bool)],
        now: Instant,
    ) -> (BlockStatus, Vec<Notice>) {
        let cidrs = subnet
            .map(|subnet| subnet.cidrs.clone())
            .unwrap_or_default();
        let recorded = |ip: &&&Ip| ip.status.claim.as_ref().is_some_and(Claim::recorded);
        let findings = [
            ready(block, spec, subnet),
            shared_with_cni(block, subnet, carriers),
            orphaned(block, subnet, &self.orphans(spec, subnet, now)),
            self.braked(block),
        ];
        let mut conditions = BTreeMap::new();
        let mut notices = Vec::new();
        for Finding {
            kind,
            on,
            reason,
            message,
            with_event,
        } in findings
        {
            if with_event {
                let on = Regarding::Block(block.name.clone(), block.uid.clone());
                notices.push(Notice {
                    on,
                    reason,
                    message: message.clone(),
                });
            }
            let condition = Condition {
                status: on,
                reason,
                message,
                generation: block.generation,
            };
            conditions.insert(kind.to_string(), condition);
        }
        let mut known = BlockStatus {
            conditions,
            ..block.status.clone()
        };
        if !cidrs.is_empty() {
            known.subnet_cidrs = cidrs.iter().map(ToString::to_string).collect();
        }
        // The numbers of an earlier process stay until this process can count.
        let counted = self.counts(spec, subnet);
        let status = counted.map_or(known.clone(), |counts| BlockStatus {
            attached: count(ips.iter().filter(recorded)),
            nodes: count(carriers.iter()),
            ..counts.into_status(known)
        });
        (status, notices)
    }

    fn braked(&self, block: &Block) -> Finding {
        if !self.brake_engaged(&block.name) {
            return Finding::none("BrakeEngaged", "no unusual number of pods vanished");
        }
        let message = format!(
            "{} pods that hold addresses vanished, and the controller did not see their deletion: no address is \
             released. If these pods are really gone, annotate this block with ip.wgtwo.com/release-brake: \"true\"",
            self.brake_pending(&block.name)
        );
        Finding::with_event("BrakeEngaged", Reason::BrakeEngaged, message)
    }

    /// The nodes that can carry addresses of the block, and for each whether the CNI can manage its ENI too.
    pub(super) fn carriers(
        &self,
        spec: &BlockSpec,
        subnet: Option<&SubnetFacts>,
    ) -> Vec<(&Node, bool)> {
        let Some(subnet) = subnet else {
            return Vec::new();
        };
        self.nodes
            .values()
            .filter_map(|seen| {
                let (_, shared) = self.carrier(spec, subnet, &seen.node)?;
                Some((&seen.node, shared))
            })
            .collect()
    }

    /// Addresses of the block that are on an ENI, are not primary, and that no IP explains.
    fn orphans(
        &self,
        spec: &BlockSpec,
        subnet: Option<&SubnetFacts>,
        now: Instant,
    ) -> Vec<(Address, InterfaceId)> {
        let Some((subnet, inventory)) =
            subnet.and_then(|subnet| Some((subnet, subnet.inventory()?)))
        else {
            return Vec::new();
        };
        let ours: BTreeSet<Address> = self.ips.values().flat_map(Ip::addresses).collect();
        let interval = self.settings.inventory_interval;
        inventory
            .addresses()
            .filter(|(address, on)| {
                let primary = inventory
                    .interfaces
                    .get(*on)
                    .and_then(|interface| interface.primary);
                spec.range.is_allocatable(**address, &subnet.cidrs)
                    && primary != Some(**address)
                    && !ours.contains(*address)
                    && !subnet.explained.contains_key(*address)
                    && subnet.locate(**address, interval, now).agreed()
            })
            .map(|(address, on)| (*address, on.clone()))
            .collect()
    }
}

impl Finding {
    /// What an earlier process found for this spec: a process that has just started keeps it until its own inventories
    /// can say.
    fn before(block: &Block, kind: &'static str) -> Option<Self> {
        let before = block.status.conditions.get(kind);
        let before = before.filter(|condition| condition.generation == block.generation)?;
        Some(Self {
            kind,
            on: before.status,
            reason: before.reason,
            message: before.message.clone(),
            with_event: false,
        })
    }

    fn none(kind: &'static str, message: &str) -> Self {
        Self {
            kind,
            on: false,
            reason: Reason::NoneSeen,
            message: message.to_string(),
            with_event: false,
        }
    }

    fn with_event(kind: &'static str, reason: Reason, message: String) -> Self {
        Self {
            kind,
            on: true,
            reason,
            message,
            with_event: true,
        }
    }
}

/// The condition `Ready`: true if addresses of the block can be reserved. Otherwise its message says what to do.
fn ready(block: &Block, spec: &BlockSpec, subnet: Option<&SubnetFacts>) -> Finding {
    let not = |reason, message: String, with_event| Finding {
        kind: READY,
        on: false,
        reason,
        message,
        with_event,
    };
    let id = &spec.subnet;
    let unread_for = subnet.and_then(|subnet| subnet.unread_for);
    let inventory = subnet.and_then(|subnet| subnet.failed_with);
    let denied = [
        (Action::DescribeSubnets, unread_for),
        (Action::DescribeInterfaces, inventory),
    ];
    let denied = denied
        .into_iter()
        .find_map(|(action, outcome)| Some((action, outcome.filter(|it| it.is_denial())?)));
    if unread_for == Some(Outcome::SubnetNotFound) {
        let message = format!(
            "EC2 knows no subnet {id} in this account and region: create another block with \
             the right spec.subnetID, and delete this one"
        );
        return not(Reason::SubnetNotFound, message, true);
    }
    if let Some((action, outcome)) = denied {
        let sentence = not_permitted(action, "", outcome);
        let message = format!("{sentence}. Until then it is not known what is in subnet {id}");
        return not(Reason::AccessDenied, message, true);
    }
    let Some((subnet, _)) = subnet.and_then(SubnetFacts::looked_at) else {
        let no_failed_read = subnet.is_none_or(|subnet| !subnet.last_read_failed());
        if let Some(before) = Finding::before(block, READY).filter(|_| no_failed_read) {
            return before;
        }
        let message = format!(
            "EC2 has not answered yet for subnet {id}: if this stays, check the subnet's id and the controller's \
             permissions ec2:{} and ec2:{}",
            Action::DescribeSubnets,
            Action::DescribeInterfaces
        );
        return not(Reason::Waiting, message, false);
    };
    let range = spec.range.cidr();
    let outside =
        |cidr: &Cidr| !cidr.contains(&range.network()) && !range.contains(&cidr.network());
    if subnet.cidrs.iter().all(outside) {
        let message = format!(
            "{range} is not in subnet {id}: correct spec.cidr, or create a block with another spec.subnetID"
        );
        return not(Reason::SubnetMismatch, message, true);
    }
    Finding {
        kind: READY,
        on: true,
        reason: Reason::Ready,
        message: format!("addresses of {range} can be reserved"),
        with_event: false,
    }
}

/// The condition `SharedWithCNI`: true if addresses of an interface can be taken by the VPC CNI. It needs an inventory.
fn shared_with_cni(
    block: &Block,
    subnet: Option<&SubnetFacts>,
    carriers: &[(&Node, bool)],
) -> Finding {
    let unknown = subnet.and_then(SubnetFacts::inventory).is_none();
    if let Some(before) = Finding::before(block, SHARED_WITH_CNI).filter(|_| unknown) {
        return before;
    }
    let shared: Vec<&str> = carriers
        .iter()
        .filter(|(_, shared)| *shared)
        .map(|(node, _)| node.name.as_str())
        .collect();
    if shared.is_empty() {
        return Finding::none(
            SHARED_WITH_CNI,
            "the VPC CNI manages no interface of the nodes",
        );
    }
    let message = format!(
        "the VPC CNI may assign addresses of these nodes' interfaces to pods: {}. Tag the interfaces \
         {NO_MANAGE}=true when they are created, or the subnet {CNI_ROLE}=0 (VPC CNI 1.22) before Mooring starts",
        listed(&shared)
    );
    Finding::with_event(SHARED_WITH_CNI, Reason::SharedWithCNI, message)
}

/// The condition `OrphanedAddress`: true if an address belongs to no IP. It needs two inventories.
fn orphaned(
    block: &Block,
    subnet: Option<&SubnetFacts>,
    orphans: &[(Address, InterfaceId)],
) -> Finding {
    let unknown = subnet.and_then(SubnetFacts::inventory_before).is_none();
    if let Some(before) = Finding::before(block, ORPHANED_ADDRESS).filter(|_| unknown) {
        return before;
    }
    if orphans.is_empty() {
        let message = "every address of the block that is on an interface belongs to an IP";
        return Finding::none(ORPHANED_ADDRESS, message);
    }
    let orphans: Vec<String> = orphans
        .iter()
        .map(|(address, on)| format!("{address} on {on}"))
        .collect();
    let message = format!(
        "no IP explains {}: unassign it there, or let an IP with that address take it by the annotation \
         ip.wgtwo.com/take-from",
        listed(&orphans)
    );
    Finding::with_event(ORPHANED_ADDRESS, Reason::OrphanedAddress, message)
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    u64::try_from(items.count()).unwrap_or(u64::MAX)
}
