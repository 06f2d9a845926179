//! Which IPs a fact may change the decisions of: too few would be forgotten, too many cost every one of
//! thousands a look. Where it is not sure, more.
//! Rule: R1.4.

use alloc::collections::BTreeSet;

use super::{Facts, NodeSeen};
use crate::address::Address;
use crate::names::{BlockName, InstanceId, InterfaceId, IpName, NodeName, SubnetId};
use crate::objects::{Block, ClaimPhase, Ip, Pod, Reservation};
use crate::time::Instant;

/// What a fact may change the decisions of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Affected {
    /// Nothing: it said what was known.
    Nothing,
    /// One IP.
    One(IpName),
    /// These, or none; and blocks.
    Several(BTreeSet<IpName>),
    /// Any of them.
    All,
}

impl Affected {
    /// Either is touched.
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

    /// These IPs, and nothing of a block.
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
    /// Claimed for the Node, with a pod there, or with one that waits for a node; and so for the others that
    /// name the instance that it names or named, since one of them is accepted.
    pub(super) fn affected_by_node(
        &self,
        name: &NodeName,
        before: Option<&NodeSeen>,
    ) -> BTreeSet<IpName> {
        let seen = before.into_iter().chain(self.nodes.get(name));
        let instances = seen.filter_map(|seen| seen.node.instance.as_ref());
        let rivals = instances.flat_map(|instance| self.index.nodes_of(instance));
        let nodes: BTreeSet<&NodeName> = rivals.chain([name]).collect();
        let mut touched = BTreeSet::new();
        for node in nodes {
            let pods = self.index.pods_on_or_waiting(node);
            let labels = pods.filter_map(|uid| self.pods.get(uid)?.pod.label.as_ref());
            touched.extend(self.index.ips_on(node).chain(labels).cloned());
        }
        touched
    }

    /// A slot of the interface may be free: whose pods wait on its machine.
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

    /// Labelled for the IP, or named by it.
    pub(super) fn affected_by_pod(&self, pod: &Pod) -> BTreeSet<IpName> {
        self.index
            .ips_naming(&pod.key)
            .chain(&pod.label)
            .cloned()
            .collect()
    }

    /// The IPs that it names, and those that its address matters to.
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

    /// These addresses are free now: the IPs that ask for one of them, or for any that is free.
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

    /// Status and finalizer of a block concern no IP; the rest may matter to what lies in it, asks for it
    /// or may lie in any.
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

    /// What lies in a block of the subnet, or may.
    pub(super) fn affected_by_subnet(&self, id: &SubnetId) -> Affected {
        let of_subnet = |block: &BlockName| {
            let spec = self
                .blocks
                .get(block)
                .and_then(|block| block.spec.as_ref().ok());
            spec.is_some_and(|spec| &spec.subnet == id)
        };
        let concerns = |ip: &&Ip| ip.status.block.as_ref().is_some_and(of_subnet) || !settled(ip);
        Affected::Several(self.names_of(concerns))
    }

    fn names_of(&self, which: impl Fn(&&Ip) -> bool) -> BTreeSet<IpName> {
        let ips = self.ips.values().filter(which);
        ips.map(|ip| ip.name.clone()).collect()
    }

    /// Whose present address two inventories and our own writes do not agree about, or not lately.
    pub(super) fn not_agreed(&self, id: &SubnetId, now: Instant) -> BTreeSet<IpName> {
        let subnet = self.subnets.get(id);
        let interval = self.settings.inventory_interval;
        let lately = subnet.is_some_and(|subnet| subnet.looked_lately(interval, now));
        self.names_of(|ip| !(lately && self.agreed_place(id, ip).is_some()))
    }

    /// Those about which it is not agreed, or was not before; and those that wait for something that an
    /// inventory may have to do with.
    pub(super) fn affected_by_inventory(
        &self,
        id: &SubnetId,
        not_agreed: &BTreeSet<IpName>,
    ) -> BTreeSet<IpName> {
        self.names_of(|ip| {
            !self.lies_elsewhere(id, ip) && (not_agreed.contains(&ip.name) || !self.rests(id, ip))
        })
    }

    /// Does it lie in a block of another subnet, and ask for nothing else?
    fn lies_elsewhere(&self, id: &SubnetId, ip: &Ip) -> bool {
        let block = ip.status.block.as_ref().filter(|_| settled(ip));
        let block = block.and_then(|name| self.blocks.get(name));
        let spec = block.and_then(|block| block.spec.as_ref().ok());
        spec.is_some_and(|spec| spec.subnet != *id)
    }

    /// Is nothing to be done for it unless its address is shown elsewhere?
    fn rests(&self, id: &SubnetId, ip: &Ip) -> bool {
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
            || !ready.is_some_and(|said| said.status)
            || !self.memory.get(&ip.name).is_some_and(super::Memory::rests)
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

    /// None: it is not agreed, or there is no address.
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
        // What EC2 does not move is not ours, although it is where ours should be.
        let immovable = subnet.immovable(address).is_some();
        (!immovable).then(|| subnet.shown(address))
    }
}

/// Does it ask for what it has?
fn settled(ip: &Ip) -> bool {
    let Ok(desired) = &ip.desired else {
        return false;
    };
    ip.status.address.is_some()
        && (desired.address.is_none() || desired.address == ip.status.address)
        && (desired.block.is_none() || desired.block == ip.status.block)
}
