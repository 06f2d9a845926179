//! The status of a block.
//! Rules: R3.6, R5.21, R5.22.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::finding::Finding;
use super::ready::ready;
use crate::address::Address;
use crate::ec2::{CNI_ROLE, NO_MANAGE};
use crate::facts::{Facts, SubnetFacts};
use crate::names::{InterfaceId, listed};
use crate::objects::{
    BRAKE_ENGAGED, Block, BlockSpec, BlockStatus, Claim, Condition, Ip, Node, ORPHANED_ADDRESS,
    SHARED_WITH_CNI,
};
use crate::reason::Reason;
use crate::step::{Notice, Regarding};
use crate::time::Instant;

/// Who may use an address that no IP explains, as far as the place shows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceOf {
    /// A node of this cluster, or an ENI without an instance.
    ThisCluster,
    /// An instance that has no Node here: another cluster, or another program.
    Elsewhere,
}

/// An address on an ENI that no IP explains.
struct Orphan {
    address: Address,
    on: InterfaceId,
    place: PlaceOf,
}

impl Facts {
    /// The status of a block, and the notices about it. `refused`: a step that the API server refuses.
    pub(super) fn block_status(
        &self,
        block: &Block,
        spec: &BlockSpec,
        ips: &[&Ip],
        carriers: &[(&Node, bool)],
        refused: Option<String>,
        now: Instant,
    ) -> (BlockStatus, Vec<Notice>) {
        let subnet = self.subnets.get(&spec.subnet);
        let cidrs = subnet
            .map(|subnet| subnet.cidrs.clone())
            .unwrap_or_default();
        let recorded = |ip: &&&Ip| ip.status.claim.as_ref().is_some_and(Claim::recorded);
        let limits = self.limits_not_permitted(carriers);
        let deletion = self.deletion(block, spec, ips);
        let findings = [
            ready(block, spec, subnet, deletion, &[limits.clone(), refused]),
            shared_with_cni(block, subnet, carriers),
            orphaned(block, self.orphans(spec, subnet, now).as_deref()),
            self.braked(block),
        ];

        let mut conditions = BTreeMap::new();
        let mut notices = Vec::new();
        notices.extend(limits.map(|message| Notice {
            on: Regarding::Block(block.name.clone(), block.uid.clone()),
            reason: Reason::AccessDenied,
            message,
        }));
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
            return Finding::none(BRAKE_ENGAGED, "no unusual number of pods vanished");
        }
        let holders = self.missing_holders_in(&block.name).map(|ip| {
            let claim = ip.status.claim.as_ref();
            let pod = claim.map_or_else(String::new, |claim| claim.pod.to_string());
            format!("IP {} (pod {pod})", ip.name)
        });
        let message = format!(
            "pods that hold addresses vanished, and the controller did not see their deletion: no address is released. \
             Check {}. If the pods are really gone, annotate this block with ip.wgtwo.com/release-brake: \"true\"",
            listed(holders)
        );
        Finding::with_event(BRAKE_ENGAGED, Reason::BrakeEngaged, message)
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

    /// Addresses of the block that are on an ENI, are not primary, and that no IP explains. None: this process has no
    /// two inventories yet that show all detaches of the former leader.
    fn orphans(
        &self,
        spec: &BlockSpec,
        subnet: Option<&SubnetFacts>,
        now: Instant,
    ) -> Option<Vec<Orphan>> {
        let (subnet, inventory) = subnet.and_then(|subnet| Some((subnet, subnet.inventory()?)))?;
        subnet
            .inventory_before()
            .filter(|before| before.begun > self.provable_after())?;
        let mut ours: BTreeSet<Address> = self.ips.values().flat_map(Ip::addresses).collect();
        // The status of an unreadable IP names no address: its reservations do.
        let unreadable = self.unreadable.keys();
        ours.extend(unreadable.flat_map(|name| self.reservations.of_parent(name)));
        let interval = self.settings.inventory_interval;
        let orphans = inventory
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
            .map(|(address, on)| {
                let interface = inventory.interfaces.get(on);
                let instance = interface.and_then(|interface| interface.instance.as_ref());
                let without_node =
                    instance.is_some_and(|it| self.index.nodes_of(it).next().is_none());
                Orphan {
                    address: *address,
                    on: on.clone(),
                    place: if without_node {
                        PlaceOf::Elsewhere
                    } else {
                        PlaceOf::ThisCluster
                    },
                }
            })
            .collect();
        Some(orphans)
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

/// The condition `OrphanedAddress`: true if a movable address belongs to no IP. None: it is not known yet.
fn orphaned(block: &Block, orphans: Option<&[Orphan]>) -> Finding {
    if let Some(before) = Finding::before(block, ORPHANED_ADDRESS).filter(|_| orphans.is_none()) {
        return before;
    }
    let orphans = orphans.unwrap_or_default();
    if orphans.is_empty() {
        let message = "no movable address of the block is on an interface without an IP";
        return Finding::none(ORPHANED_ADDRESS, message);
    }
    let those = |place| {
        let those = orphans.iter().filter(move |orphan| orphan.place == place);
        let texts: Vec<String> = those
            .map(|Orphan { address, on, .. }| format!("{address} on {on}"))
            .collect();
        (!texts.is_empty()).then(|| listed(&texts))
    };
    let here = those(PlaceOf::ThisCluster).map(|addresses| {
        format!(
            "no IP explains {addresses}: unassign it there, or let an IP with that address take it by the annotation \
             ip.wgtwo.com/take-from"
        )
    });
    let elsewhere = those(PlaceOf::Elsewhere).map(|addresses| {
        format!(
            "no IP explains {addresses}, on an instance that is no node of this cluster: another cluster or program \
             may use it. Do not unassign it before you know; if it is in use, add it to spec.excluded"
        )
    });
    let messages: Vec<String> = here.into_iter().chain(elsewhere).collect();
    let message = messages.join(". ");
    Finding::with_event(ORPHANED_ADDRESS, Reason::OrphanedAddress, message)
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    u64::try_from(items.count()).unwrap_or(u64::MAX)
}
