//! Finds the connections that contradict the desired state: their conntrack entry would send packets with
//! a wrong source address or to a wrong pod, or has the mark of an earlier slot.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use super::desired::{Desired, Endpoint};
use super::destinations::Destinations;
use super::objects::Mac;
use super::ruleset::TO_POD;
use super::settings::NodeSettings;
use super::state::{AS_ADDRESS, HOST, KernelState};

/// One conntrack entry (IPv4): only its addresses and its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Source of the first packet.
    pub source: Ipv4Addr,
    /// Destination of the first packet.
    pub destination: Ipv4Addr,
    /// Source of the replies: the destination after translation (DNAT).
    pub reply_source: Ipv4Addr,
    /// Destination of the replies: the source after translation (SNAT).
    pub reply_destination: Ipv4Addr,
    /// The connection mark (`ct mark`).
    pub mark: u32,
}

/// The conditions that connections of static addresses and of their pods must meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    mask: u32,
    /// By the own address of a pod, or the static address of a program in the network namespace of the node.
    senders: BTreeMap<Ipv4Addr, Sender>,
    closed: BTreeMap<Ipv4Addr, Destinations>,
    addresses: BTreeMap<Ipv4Addr, Reached>,
    /// Static addresses that were programmed before and are not programmed any more.
    gone: BTreeSet<Ipv4Addr>,
    /// Static addresses of pods from which the node part opens probe connections.
    probed: BTreeSet<Ipv4Addr>,
    /// The mark of the probe connections.
    probe_mark: u32,
}

/// How a static address is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reached {
    /// The address that its packets have after DNAT: the pod address, or itself for a program in the network namespace
    /// of the node.
    endpoint: Ipv4Addr,
    /// The mark of its connections that use the ENI. Others have no mark.
    mark: u32,
}

/// What must be done with a conntrack entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// Delete it.
    Forget,
    /// Set the bits of `mask` to `mark`. The entry keeps its translation, so the connection continues.
    Mark {
        /// The mark of the present slot.
        mark: u32,
        /// The bits that are set.
        mask: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Sender {
    /// The static address.
    address: Ipv4Addr,
    destinations: Destinations,
}

impl Expected {
    /// The conditions that apply after `desired` replaces what the kernel shows.
    #[must_use]
    pub fn new(
        desired: &Desired,
        slots: &BTreeMap<Mac, u32>,
        before: &KernelState,
        settings: &NodeSettings,
    ) -> Self {
        let mut expected = Self {
            mask: settings.mark_mask(),
            closed: desired.closed.clone(),
            probed: desired.probed_pods().map(|(address, _)| *address).collect(),
            probe_mark: settings.probe_mark(),
            ..Self::default()
        };
        for (address, to) in &desired.addresses {
            let Some(slot) = slots.get(&to.mac) else {
                continue;
            };
            let endpoint = match to.endpoint {
                Endpoint::Host => *address,
                Endpoint::Pod(pod) => pod,
            };
            let sender = Sender {
                address: *address,
                destinations: to.destinations.clone(),
            };
            expected.senders.insert(endpoint, sender);
            let mark = settings.mark(*slot);
            let reached = Reached { endpoint, mark };
            expected.addresses.insert(*address, reached);
        }
        let addresses = &expected.addresses;
        let text = |value: &serde_json::Value| value.as_str().and_then(|text| text.parse().ok());
        expected.gone = before
            .table
            .iter()
            .flat_map(|table| {
                let keys = table.pairs(TO_POD).map(|(key, _)| key);
                let values = [AS_ADDRESS, HOST].map(|map| table.pairs(map).map(|(_, value)| value));
                keys.chain(values.into_iter().flatten()).filter_map(text)
            })
            .chain(before.uncorrected.iter().flatten().copied())
            .filter(|address| !addresses.contains_key(address))
            .collect();
        expected
    }

    /// Static addresses that were programmed before and are not programmed any more.
    #[must_use]
    pub const fn gone(&self) -> &BTreeSet<Ipv4Addr> {
        &self.gone
    }

    /// Whether no connection can contradict these conditions, so that conntrack need not be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.senders.is_empty()
            && self.closed.is_empty()
            && self.addresses.is_empty()
            && self.gone.is_empty()
    }

    /// What must be done with the conntrack entry of this connection. None: it is right.
    #[must_use]
    pub fn correction(&self, connection: &Connection) -> Option<Correction> {
        if self.contradicts(connection) {
            return Some(Correction::Forget);
        }
        let mark = self.present_mark(connection)?;
        let differs = connection.mark & self.mask != mark;
        differs.then_some(Correction::Mark {
            mark,
            mask: self.mask,
        })
    }

    /// The mark that a connection with a mark must have. An ENI gets another slot if another program deletes the table,
    /// and an address can move to another ENI: with the earlier mark the guard would drop every packet.
    fn present_mark(&self, connection: &Connection) -> Option<u32> {
        let ours = connection.mark & self.mask;
        if ours == 0 || self.is_of_probe(connection) {
            return None;
        }
        let inward = self.addresses.get(&connection.destination);
        let reached = inward.or_else(|| self.addresses.get(&connection.reply_destination))?;
        Some(reached.mark)
    }

    fn is_of_probe(&self, connection: &Connection) -> bool {
        self.probed.contains(&connection.source) && connection.mark & self.mask == self.probe_mark
    }

    /// Whether the conntrack entry must be deleted: its translation is wrong, or it has none.
    fn contradicts(&self, connection: &Connection) -> bool {
        let Connection {
            source,
            destination,
            reply_source,
            reply_destination,
            mark,
        } = *connection;
        let ours = mark & self.mask;
        if let Some(Sender {
            address,
            destinations,
        }) = self.senders.get(&source)
        {
            // What a program of the node sends has no mark: the rule selects it by its source.
            let marked = ours != 0 || source == *address;
            let right = marked && reply_destination == *address;
            if destinations.uses_static_address(reply_source) && !right {
                return true;
            }
        }
        if let Some(destinations) = self.closed.get(&source)
            && (ours != 0 || destinations.guarded(reply_source))
        {
            return true;
        }
        if let Some(reached) = self.addresses.get(&destination)
            && reply_source != reached.endpoint
        {
            return true;
        }
        if let Some(reached) = self.addresses.get(&reply_destination)
            && source != reached.endpoint
            && !self.is_of_probe(connection)
        {
            return true;
        }
        self.gone.contains(&destination) || self.gone.contains(&reply_destination)
    }
}
