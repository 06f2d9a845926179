//! Decides which pods could hold the address now, and on which ENI.
//! Rules: R3.1, R3.5, R3.6, R3.9, R5.5, R5.6.

use super::{Ineligible, World};
use crate::backoff::REFUSALS;
use crate::cloud::{CniUse, Interface};
use crate::ec2::{DESCRIBE_LAG, NO_MANAGE};
use crate::facts::{Inventory, SubnetFacts};
use crate::names::{InstanceId, InstanceType, InterfaceId, InterfaceRef, PodUid};
use crate::objects::{BlockSpec, Node, Pod, Target};
use crate::reason::Reason;

impl World<'_> {
    /// The placement of the pod, or why it cannot hold the address now.
    pub(crate) fn placement(&self, pod: &Pod) -> Result<Target, Ineligible> {
        if pod.deleting.is_some() || pod.ended || !pod.annotated {
            return Err(Ineligible::Leaving);
        }
        if !pod.gated || pod.ip.is_none() {
            return Err(Ineligible::NotAdmitted);
        }
        if pod.ip.as_ref() != Some(&self.ip.uid) {
            return Err(Ineligible::Stale(self.ip.name.clone()));
        }
        if !self.namespace_allowed(pod) {
            return Err(Ineligible::Namespace);
        }
        let name = pod.node.as_ref().ok_or(Ineligible::Unscheduled)?;
        let away = || Ineligible::NodeAway(name.clone());
        let node = &self.facts.nodes.get(name).ok_or_else(away)?.node;
        if !node.ready || node.unreachable || node.out_of_service {
            return Err(away());
        }
        let placement = self.placement_on(node)?;
        let interface = &placement.place.interface;
        if let Some(reason) = self.refused(&pod.uid, interface) {
            return Err(Ineligible::Refused(interface.clone(), reason));
        }
        if !self.has_room(interface, node.instance_type.as_ref()) {
            return Err(Ineligible::Full(interface.clone()));
        }
        Ok(placement)
    }

    /// The placement on this Node, or why it cannot carry the address.
    pub(crate) fn placement_on(&self, node: &Node) -> Result<Target, Ineligible> {
        let instance = self.facts.instance_of(node)?;
        let nowhere = || Ineligible::NoInterface(node.name.clone());
        if !self.subnet_is_shown() {
            return Err(Ineligible::NoInventory);
        }
        let (spec, subnet) = self.spec().zip(self.subnet()).ok_or_else(nowhere)?;
        let (interface, _) = usable_interface(spec, subnet, instance).ok_or_else(nowhere)?;
        let place = InterfaceRef {
            interface: interface.id.clone(),
            instance: instance.clone(),
        };
        Ok(Target {
            node: node.name.clone(),
            place,
        })
    }

    /// True if an inventory shows the interfaces in the subnet of the block.
    pub(crate) fn subnet_is_shown(&self) -> bool {
        self.subnet().and_then(SubnetFacts::inventory).is_some()
    }

    fn namespace_allowed(&self, pod: &Pod) -> bool {
        let namespace = &pod.key.namespace;
        // A spec that cannot be read restricts no namespaces here; other code reports it.
        let block = self.spec().map(|spec| &spec.allowed_namespaces);
        let ip = self
            .ip
            .desired
            .as_ref()
            .map(|desired| &desired.allowed_namespaces);
        block.is_none_or(|names| names.allow(namespace))
            && ip.is_ok_and(|names| names.allow(namespace))
    }

    /// True if EC2 refused this ENI for good, and no later inventory could show why yet.
    pub(crate) fn refused_lately(&self, interface: &InterfaceId) -> bool {
        self.memory.refused.get(interface).is_some_and(|refusals| {
            let looked = self.subnet().and_then(SubnetFacts::inventory);
            looked.is_none_or(|inventory| inventory.begun <= refusals.last.plus(DESCRIBE_LAG))
        })
    }

    /// True if a pod that stays holds the address, and EC2 refused this ENI more than once in a row: each try costs the
    /// holder its readiness, and with `reassign: false` the address, for a moment. Inventories do not show an unknown
    /// limit.
    fn refused_again(&self, interface: &InterfaceId) -> bool {
        let claim = self.ip.status.claim.as_ref();
        let holder = claim.filter(|claim| claim.recorded());
        let holder = holder.and_then(|claim| self.facts.pods.get(&claim.uid));
        let held = holder.is_some_and(|seen| seen.pod.deleting.is_none() && !seen.pod.ended);
        let refusals = self.memory.refused.get(interface);
        refusals.filter(|_| held).is_some_and(|refusals| {
            let waits = refusals.times.checked_sub(2);
            waits.is_some_and(|waits| self.now < refusals.last.plus(REFUSALS.wait_after(waits)))
        })
    }

    /// Why a target that EC2 refused is still skipped: until a later inventory began, or, while a pod holds the address,
    /// until the wait after repeated refusals ends. If it was denied: until its wait ends or EC2 permits the action
    /// again.
    fn refused(&self, pod: &PodUid, interface: &InterfaceId) -> Option<Reason> {
        let refused = self.ip.status.refused.as_ref();
        if self.refused_lately(interface) || self.refused_again(interface) {
            // The status names only one refused target.
            let named = refused.filter(|refused| &refused.interface == interface);
            return Some(named.map_or(Reason::AttachFailed, |refused| refused.reason));
        }
        let refused = refused?;
        let denied = refused.reason == Reason::AccessDenied
            && self
                .memory
                .denied
                .contains(&(pod.clone(), interface.clone()));
        if !denied && (&refused.pod != pod || &refused.interface != interface) {
            return None;
        }
        let times = self.memory.failures.times_denied().saturating_sub(1);
        let again = self.memory.refused_seen.plus(REFUSALS.wait_after(times));
        let over = if refused.reason == Reason::AccessDenied {
            let permitted = self.facts.recovered > self.memory.refused_seen;
            self.now >= again || permitted && !self.memory.failures.denied_alone()
        } else {
            let looked = self
                .subnet()
                .and_then(SubnetFacts::inventory)
                .map(|inventory| inventory.begun);
            looked.is_some_and(|begun| begun > self.memory.refused_seen)
        };
        (!over).then_some(refused.reason)
    }

    /// True if the ENI already has the address, or has a free slot. Unfinished moves count on both ENIs (R3.9).
    fn has_room(&self, interface: &InterfaceId, kind: Option<&InstanceType>) -> bool {
        let Some(subnet) = self.subnet() else {
            return false;
        };
        let Some(address) = self.ip.status.address else {
            return false;
        };
        let here = |address| self.locate(address).on.as_ref() == Some(interface);
        if here(address) {
            return true;
        }
        // The limit is not known: EC2 decides, and a refusal is remembered.
        let Some(limit) = kind.and_then(|kind| self.facts.limits.get(kind)) else {
            return true;
        };
        let pending = self
            .facts
            .pending_for(interface)
            .filter(|(name, address)| *name != &self.ip.name && !here(*address))
            .count();
        subnet.slots_taken_on(interface).saturating_add(pending)
            < usize::try_from(*limit).unwrap_or(usize::MAX)
    }
}

/// The usable ENI of an instance for a block, and whether the VPC CNI may manage it too. The same function decides
/// which Nodes get the label of the block (R3.5 to R3.7).
#[must_use]
pub fn usable_interface<'a>(
    spec: &BlockSpec,
    subnet: &'a SubnetFacts,
    instance: &InstanceId,
) -> Option<(&'a Interface, bool)> {
    usable_in(subnet.inventory()?, spec, subnet.cni, instance)
}

/// As [`usable_interface`], in this inventory of the subnet.
pub(crate) fn usable_in<'a>(
    inventory: &'a Inventory,
    spec: &BlockSpec,
    cni: CniUse,
    instance: &InstanceId,
) -> Option<(&'a Interface, bool)> {
    let tagged = |interface: &Interface| {
        spec.interface_tags
            .iter()
            .all(|(key, value)| interface.tags.get(key) == Some(value))
    };
    // The CNI ignores the tag of the first ENI of an instance, but not the tag of the subnet.
    let left_alone = |interface: &Interface| {
        let tag = interface.tags.get(NO_MANAGE);
        cni == CniUse::Excluded
            || interface.device_index != Some(0) && tag.is_some_and(|value| value == "true")
    };
    let managed = |interface: &Interface| spec.interface_tags.is_empty() && !left_alone(interface);
    let chosen = inventory
        .of_instance(instance)
        .filter(|interface| interface.attached)
        .filter(|interface| {
            interface.subnet == spec.subnet && !interface.requester_managed && tagged(interface)
        })
        .min_by_key(|interface| {
            (
                managed(interface),
                interface.device_index,
                interface.id.clone(),
            )
        })?;
    Some((chosen, managed(chosen)))
}
