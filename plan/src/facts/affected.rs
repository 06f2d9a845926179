//! Finds the IPs whose decisions a fact can change. A missing IP would not be reconciled; too many IPs cost time. If it
//! is not certain, an IP is included.
//! Rule: R1.4.

use alloc::collections::BTreeSet;

use super::{Facts, NodeSeen};
use crate::address::Address;
use crate::names::{InstanceId, InterfaceId, IpName, NodeName, SubnetId};
use crate::objects::{Block, ClaimPhase, Ip, Pod, Reservation};
use crate::time::Instant;

/// The IPs whose decisions a fact can change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Affected {
    /// None: the fact was known already.
    Nothing,
    /// One IP.
    One(IpName),
    /// These IPs (possibly none), and blocks.
    Several(BTreeSet<IpName>),
    /// All IPs, and blocks.
    All,
}

impl Affected {
    /// The union of both.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::One(one), Self::One(other)) if one == other => Self::One(one),
            (Self::One(one), Self::One(other)) => Self::Several([one, other].into()),
            (Self::One(one), Self::Several(mut several))
            | (Self::Several(mut several), Self::One(one)) => {
                several.insert(one);
                Self::Several(several)
            }
            (Self::Several(mut several), Self::Several(others)) => {
                several.extend(others);
                Self::Several(several)
            }
        }
    }

    /// These IPs. An empty set affects nothing, not even blocks.
    pub(super) fn of(ips: BTreeSet<IpName>) -> Self {
        let mut each = ips.iter();
        match (each.next(), each.next()) {
            (None, _) => Self::Nothing,
            (Some(one), None) => Self::One(one.clone()),
            _ => Self::Several(ips),
        }
    }
}

impl Facts {
    /// The IPs that are claimed for the Node, have a pod there, or have a pod that waits for a node. This includes all
    /// other Nodes that name the present or former instance of the Node, since only one of them is accepted.
    pub(super) fn affected_by_node(
        &self,
        name: &NodeName,
        before: Option<&NodeSeen>,
    ) -> BTreeSet<IpName> {
        let seen = before.into_iter().chain(self.nodes.get(name));
        let instances = seen.filter_map(|seen| seen.node.instance.as_ref());
        let competitors = instances.flat_map(|instance| self.index.nodes_of(instance));
        let nodes: BTreeSet<&NodeName> = competitors.chain([name]).collect();
        let mut affected = BTreeSet::new();
        for node in nodes {
            let pods = self.index.pods_on_or_waiting(node);
            let labels = pods.filter_map(|uid| self.pods.get(uid)?.pod.label.as_ref());
            affected.extend(self.index.ips_on(node).chain(labels).cloned());
        }
        affected
    }

    /// A slot of the ENI can be free: the IPs whose pods wait on its instance.
    pub(crate) fn affected_by_room(&self, interface: &InterfaceId) -> BTreeSet<IpName> {
        let shown = self
            .subnets
            .values()
            .find_map(|subnet| subnet.interface(interface));
        let instance = shown.and_then(|interface| interface.instance.as_ref());
        let pods = instance
            .into_iter()
            .flat_map(|instance| self.index.pods_at(instance));
        let waiting = pods.filter_map(|uid| {
            let ip = self.ips.get(self.pods.get(uid)?.pod.label.as_ref()?)?;
            let holds = ip
                .status
                .claim
                .as_ref()
                .is_some_and(|claim| &claim.uid == uid);
            (!holds).then(|| ip.name.clone())
        });
        waiting.collect()
    }

    /// The IP in the label of the pod, and the IPs that name the pod.
    pub(super) fn affected_by_pod(&self, pod: &Pod) -> BTreeSet<IpName> {
        self.index
            .ips_naming(&pod.key)
            .chain(&pod.label)
            .cloned()
            .collect()
    }

    /// The IPs that the reservation names, and those that have or want its address.
    pub(super) fn affected_by_reservation(&self, held: &Reservation) -> BTreeSet<IpName> {
        let uids = held.label.iter().chain(&held.owner);
        let named = uids.filter_map(|uid| self.index.ip_of_uid(uid));
        let parent = held
            .parent
            .iter()
            .filter(|parent| self.ips.contains_key(*parent));
        let about = self.index.ips_about(held.address);
        named.chain(parent).chain(about).cloned().collect()
    }

    /// These addresses are free now: the IPs that ask for one of them, or for any free address.
    pub(super) fn affected_by_freed(
        &self,
        freed: impl Iterator<Item = Address>,
    ) -> BTreeSet<IpName> {
        let waiting = freed.flat_map(|address| self.index.ips_about(address));
        waiting
            .chain(self.index.without_address())
            .cloned()
            .collect()
    }

    /// Status and finalizer of a block affect no IP. Other changes affect the IPs in the block, and all IPs that do not
    /// have what they ask for yet.
    pub(super) fn affected_by_block(
        &self,
        before: Option<&Block>,
        after: Option<&Block>,
    ) -> Affected {
        if before == after {
            return Affected::Nothing;
        }
        if let Some((before, after)) = before.zip(after)
            && before.spec == after.spec
            && before.deleting == after.deleting
            && before.release_brake == after.release_brake
        {
            return Affected::Several(BTreeSet::new());
        }
        let name = before.or(after).map(|block| &block.name);
        let concerns = |ip: &&Ip| ip.status.block.as_ref() == name || !settled(ip);
        Affected::Several(self.names_of(concerns))
    }

    /// The IPs in blocks of the subnet, and all IPs that do not have what they ask for yet.
    pub(super) fn affected_by_subnet(&self, id: &SubnetId) -> Affected {
        let of_subnet = |ip: &Ip| self.spec_of(ip).is_some_and(|spec| &spec.subnet == id);
        let concerns = |ip: &&Ip| of_subnet(ip) || !settled(ip);
        Affected::Several(self.names_of(concerns))
    }

    fn names_of(&self, which: impl Fn(&&Ip) -> bool) -> BTreeSet<IpName> {
        let ips = self.ips.values().filter(which);
        ips.map(|ip| ip.name.clone()).collect()
    }

    /// The IPs for whose address there are no two agreeing inventories without a later own write, or no recent ones.
    pub(super) fn not_agreed(&self, id: &SubnetId, now: Instant) -> BTreeSet<IpName> {
        let subnet = self.subnets.get(id);
        let interval = self.settings.inventory_interval;
        let lately = subnet.is_some_and(|subnet| subnet.has_fresh_inventory(interval, now));
        self.names_of(|ip| !(lately && self.agreed_place(id, ip).is_some()))
    }

    /// The IPs for which inventories do not agree now or did not before, and the IPs that wait for something that an
    /// inventory can change.
    pub(super) fn affected_by_inventory(
        &self,
        id: &SubnetId,
        not_agreed: &BTreeSet<IpName>,
    ) -> BTreeSet<IpName> {
        self.names_of(|ip| {
            !self.lies_elsewhere(id, ip) && (not_agreed.contains(&ip.name) || !self.is_idle(id, ip))
        })
    }

    /// True if the IP is in a block of another subnet and has what it asks for.
    fn lies_elsewhere(&self, id: &SubnetId, ip: &Ip) -> bool {
        let spec = self.spec_of(ip).filter(|_| settled(ip));
        spec.is_some_and(|spec| spec.subnet != *id)
    }

    /// True if the IP needs no step unless an inventory shows its address elsewhere.
    fn is_idle(&self, id: &SubnetId, ip: &Ip) -> bool {
        let Some(place) = self.agreed_place(id, ip) else {
            return false;
        };
        let status = &ip.status;
        let ready = status.conditions.ready.as_ref();
        if !settled(ip)
            || ip.deleting
            || ip.take_from.is_some()
            || !status.previous.is_empty()
            || status.refused.is_some()
            || !ready.is_some_and(|condition| condition.status)
            || !self
                .memory
                .get(&ip.name)
                .is_some_and(super::Memory::is_idle)
            || self.missing_holders.contains_key(&ip.name)
            || !self
                .reservations
                .of(&ip.uid)
                .map(|held| Some(held.address))
                .eq([status.address])
        {
            return false;
        }
        let mut pods = self.pods_of.of(&ip.name);
        match status
            .claim
            .as_ref()
            .map(|claim| (&claim.uid, &claim.phase))
        {
            None => pods.next().is_none() && place.is_none(),
            Some((holder, ClaimPhase::Recorded(target))) => {
                let there = (&target.place.interface, Some(&target.place.instance));
                pods.all(|uid| uid == holder) && place == Some(there)
            }
            Some((_, ClaimPhase::Claimed(_) | ClaimPhase::Detaching)) => false,
        }
    }

    /// The place on which two inventories agree. None: they do not agree, or the IP has no address.
    #[expect(
        clippy::option_option,
        reason = "not agreed, agreed to be nowhere, agreed to be there: three answers"
    )]
    fn agreed_place<'a>(
        &'a self,
        id: &SubnetId,
        ip: &Ip,
    ) -> Option<Option<(&'a InterfaceId, Option<&'a InstanceId>)>> {
        let address = ip.status.address?;
        let subnet = self.subnets.get(id)?;
        subnet.agreed_since(address)?;
        // A primary or prefix address is not ours, even on the ENI where the address of the IP should be.
        let immovable = subnet.immovable(address).is_some();
        (!immovable).then(|| subnet.shown(address))
    }
}

/// True if the IP has the address and block that it asks for.
fn settled(ip: &Ip) -> bool {
    let Ok(desired) = &ip.desired else {
        return false;
    };
    ip.status.address.is_some()
        && (desired.address.is_none() || desired.address == ip.status.address)
        && (desired.block.is_none() || desired.block == ip.status.block)
}
