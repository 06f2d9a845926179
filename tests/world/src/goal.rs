//! The goal: at rest, the state must be what the objects ask for. This is a second, independent description, from the
//! point of view of the user.

use std::collections::BTreeSet;

use mooring_plan::address::Address;
use mooring_plan::names::{InstanceId, InterfaceId};
use mooring_plan::objects::{Claim, Condition, Ip, Pod};
use mooring_plan::reason::Reason;

use crate::cloud::Cloud;
use crate::kube::Kube;
use crate::queries::{explains, is_well};

/// The state that the goal is checked on.
#[derive(Clone, Copy)]
pub struct AtRest<'a> {
    pub kube: &'a Kube,
    pub cloud: &'a Cloud,
    /// Whether a person assigned this address to this interface.
    pub manual: &'a dyn Fn(Address, &InterfaceId) -> bool,
}

fn require(holds: bool, what: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("at rest, {what}"))
    }
}

/// Is the condition `True`?
fn holds(condition: Option<&Condition>) -> bool {
    condition.is_some_and(|condition| condition.status)
}

impl AtRest<'_> {
    /// Checks that every address is at its place, every status reports this, and nothing is left over.
    pub fn check(self) -> Result<(), String> {
        let mut ours = BTreeSet::new();
        for ip in self.kube.ips.values() {
            require(!ip.deleting, "a deleted IP still exists")?;
            let reserved_condition = ip.status.conditions.reserved.as_ref();
            require(
                reserved_condition.is_some(),
                "an IP has no condition Reserved",
            )?;
            let desired = ip.desired.as_ref().ok().and_then(|desired| desired.address);
            let reserved = |address: Address| self.kube.reserved_for(address, &ip.uid);
            let Some(address) = ip.status.address else {
                let taken = desired.and_then(reserved) == Some(false);
                require(taken, "a free address is not reserved")?;
                continue;
            };
            // While a pod has the present address, the IP does not change to an address that is in use elsewhere.
            let in_use = |desired: Address| {
                let on = self.cloud.holder_of(desired);
                ip.status.claim.is_some()
                    && on.is_some_and(|on| !explains(&ip.status, desired, &on))
            };
            let available =
                desired.filter(|desired| reserved(*desired) != Some(false) && !in_use(*desired));
            require(
                available.is_none_or(|desired| desired == address),
                "an edit has no effect",
            )?;
            if reserved(address) == Some(true) {
                ours.extend(self.place_of(ip, address)?);
            } else {
                let in_use = reserved_condition
                    .is_some_and(|condition| condition.reason == Reason::AddressInUse);
                require(
                    in_use && ip.status.claim.is_none(),
                    "an address is not reserved",
                )?;
            }
        }
        self.nothing_left(&ours)
    }

    /// Checks one IP; returns the place where its address may be.
    fn place_of(self, ip: &Ip, address: Address) -> Result<Option<(Address, InterfaceId)>, String> {
        let on = self.cloud.holder_of(address);
        let foreign = on
            .as_ref()
            .is_some_and(|on| !explains(&ip.status, address, on));
        let attached: Vec<_> = self.kube.reports_attached(ip).map(|pod| &pod.uid).collect();
        let pods = &self.kube.pods;
        let conditions = &ip.status.conditions;
        let Some(claim) = &ip.status.claim else {
            require(
                !holds(conditions.attached.as_ref()),
                "a free IP has the condition Attached",
            )?;
            require(
                attached.is_empty(),
                "a gate is True although there is no claim",
            )?;
            require(
                on.is_none() || foreign,
                "an address remains on an interface",
            )?;
            let waiting = pods.values().find(|pod| self.could_hold(pod, ip));
            require(
                waiting.is_none() || foreign,
                "a pod waits for an address that is free",
            )?;
            return Ok(None);
        };
        let holder = self.kube.pod(&claim.pod, &claim.uid);
        let holder = holder.filter(|pod| pod.annotated && !pod.ended);
        let holder = holder.ok_or("at rest, the holder does not ask for the address")?;
        let next = pods
            .values()
            .find(|pod| pod.uid != claim.uid && self.could_hold(pod, ip));
        let lost = holder.deleting.is_some() && self.away(holder);
        require(
            next.is_none() || !lost || foreign,
            "a pod on a failed node keeps the address",
        )?;
        let stays = foreign || self.reports_denial(ip);
        let newer = pods.values().find(|pod| {
            self.could_hold(pod, ip) && pod.ready_to_take_over() && self.kube.is_newer(pod, holder)
        });
        require(newer.is_none() || stays, "the rollout does not continue")?;
        let Some(target) = claim.target() else {
            return Err("at rest, the detach is not finished".to_owned());
        };
        if claim.recorded() {
            require(
                on.as_ref() == Some(&target.place.interface),
                "the address is not on the interface of the claim",
            )?;
            // A pod that ends keeps the address where it is.
            let machine = self.cloud.instance_of(&target.place.interface);
            let is_on = |of: &InstanceId| Some(of) == machine.as_ref();
            require(
                holder.deleting.is_some()
                    || is_on(&target.place.instance) && self.instance(holder).is_none_or(is_on),
                "the interface of the claim is not on the machine of the holder",
            )?;
            require(
                attached == [&claim.uid] || attached.is_empty() && self.kube.lacks_node_part(ip),
                "the gate of the holder is not True, or another gate is True",
            )?;
            require(
                holds(conditions.attached.as_ref()),
                "the condition Attached of an attached IP is not True",
            )?;
            let desired = ip.desired.as_ref().ok().and_then(|desired| desired.address);
            let whole =
                desired.is_none_or(|desired| desired == address) && !self.kube.lacks_node_part(ip);
            require(
                !whole || holds(conditions.ready.as_ref()),
                "the condition Ready of an attached IP is not True",
            )?;
        } else {
            require(
                attached.is_empty(),
                "a gate is True before the claim is recorded",
            )?;
            require(
                stays || !self.has_room(holder, address),
                "the address is never attached",
            )?;
            let denied = stays && !foreign;
            require(
                !denied || !self.could_go_back(ip, claim),
                "a denied claim does not go back to the former holder",
            )?;
        }
        // As long as EC2 denies the detach, the address stays where it was before.
        let before = on.filter(|on| stays && explains(&ip.status, address, on));
        let place = before.unwrap_or_else(|| target.place.interface.clone());
        Ok(Some((address, place)))
    }

    fn nothing_left(self, ours: &BTreeSet<(Address, InterfaceId)>) -> Result<(), String> {
        for held in self.kube.reservations.values() {
            let mut ips = self.kube.ips.values();
            let owner = ips.find(|ip| Some(&ip.uid) == held.owner.as_ref());
            let needed = owner.is_some_and(|ip| {
                let desired = ip.desired.as_ref().ok().and_then(|desired| desired.address);
                // The old address also stays reserved while the holder cannot be attached.
                let claim = ip.status.claim.as_ref();
                let waits = claim.is_some_and(|claim: &Claim| !claim.recorded());
                ip.status.address == Some(held.address) || desired == Some(held.address) || waits
            });
            require(needed, "an address stays reserved")?;
        }
        for place in self.cloud.assigned() {
            let known = ours.contains(&place) || (self.manual)(place.0, &place.1);
            require(known, "an address is left on an interface")?;
        }
        for pod in self.kube.pods.values().filter(|pod| !pod.annotated) {
            let over = pod.deleting.is_some() || pod.ended;
            let label = pod.label.as_ref();
            let known = label.is_some_and(|name| self.kube.ips.contains_key(name));
            require(
                over || !known,
                "a pod without the annotation still has the label",
            )?;
        }
        Ok(())
    }

    /// Does EC2 deny an action, and does the IP say so? Then its address may stay where it is.
    fn reports_denial(self, ip: &Ip) -> bool {
        let refused = ip.status.refused.as_ref().map(|refused| refused.reason);
        let attached = ip.status.conditions.attached.as_ref();
        let reasons = [refused, attached.map(|condition| condition.reason)];
        !self.cloud.denied().is_empty() && reasons.contains(&Some(Reason::AccessDenied))
    }

    /// Is the address still at a former holder that runs, or that ends on a node that works?
    fn could_go_back(self, ip: &Ip, claim: &Claim) -> bool {
        let on = ip.status.address.and_then(|of| self.cloud.holder_of(of));
        ip.status.previous.iter().any(|entry| {
            let holder = entry.holder.as_ref();
            let holder = holder.filter(|(_, uid)| uid != &claim.uid);
            let pod = holder.and_then(|(key, uid)| self.kube.pod(key, uid));
            let stays = |pod: &Pod| pod.deleting.is_none() || !self.away(pod);
            Some(entry.address) == ip.status.address
                && on.as_ref() == Some(&entry.interface)
                && pod.is_some_and(|pod| pod.annotated && !pod.ended && stays(pod))
        })
    }

    fn away(self, pod: &Pod) -> bool {
        let node = self.kube.node_of(pod);
        node.is_none_or(|node| node.unreachable || node.out_of_service)
    }

    fn instance(&self, pod: &Pod) -> Option<&InstanceId> {
        self.kube.node_of(pod)?.instance.as_ref()
    }

    /// Could the machine that this pod is bound to have the address?
    fn has_room(self, pod: &Pod, address: Address) -> bool {
        self.instance(pod)
            .is_some_and(|instance| self.cloud.has_room(instance, address))
    }

    /// Could this pod hold the address of this IP now?
    fn could_hold(self, pod: &Pod, ip: &Ip) -> bool {
        let asks = pod.annotated
            && pod.ip.as_ref() == Some(&ip.uid)
            && pod.label.as_ref() == Some(&ip.name);
        let lives = !pod.ended && pod.deleting.is_none();
        let well = self.kube.node_of(pod).is_some_and(is_well);
        let address = ip.status.address;
        asks && lives && well && address.is_some_and(|address| self.has_room(pod, address))
    }
}
