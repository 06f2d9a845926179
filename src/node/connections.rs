//! Which connections contradict the desired state: what conntrack remembers of them would send their
//! packets with another source, or to another pod.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use super::desired::{Desired, Endpoint};
use super::destinations::Destinations;
use super::objects::Mac;
use super::ruleset::{AS_ADDRESS, HOST, TO_POD};
use super::settings::NodeSettings;
use super::table::Table;

/// One entry of conntrack (IPv4), as far as addresses and mark go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Source of the first packet.
    pub source: Ipv4Addr,
    /// Destination of the first packet.
    pub destination: Ipv4Addr,
    /// Source of the answers: the destination after translation.
    pub reply_source: Ipv4Addr,
    /// Destination of the answers: the source after translation.
    pub reply_destination: Ipv4Addr,
    /// The mark of the connection.
    pub mark: u32,
}

/// What connections of static addresses and their pods have to look like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    mask: u32,
    pods: BTreeMap<Ipv4Addr, Pod>,
    closed: BTreeMap<Ipv4Addr, Destinations>,
    /// The address at which the program of a static address is reached on this node.
    addresses: BTreeMap<Ipv4Addr, Ipv4Addr>,
    /// Static addresses that were programmed until now.
    gone: BTreeSet<Ipv4Addr>,
    /// Static addresses of pods that the node part itself opens connections from.
    probed: BTreeSet<Ipv4Addr>,
    /// The mark of these connections.
    probe_mark: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pod {
    address: Ipv4Addr,
    mark: u32,
    destinations: Destinations,
}

impl Expected {
    /// What is expected once `desired` is programmed in the place of `before`.
    #[must_use]
    pub fn new(
        desired: &Desired,
        slots: &BTreeMap<Mac, u32>,
        before: Option<&Table>,
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
            let reached = match to.endpoint {
                Endpoint::Host => *address,
                Endpoint::Pod(pod) => {
                    let expects = Pod {
                        address: *address,
                        mark: settings.mark(*slot),
                        destinations: to.destinations.clone(),
                    };
                    expected.pods.insert(pod, expects);
                    pod
                }
            };
            expected.addresses.insert(*address, reached);
        }
        let addresses = &expected.addresses;
        let text = |value: &serde_json::Value| value.as_str().and_then(|text| text.parse().ok());
        expected.gone = before
            .into_iter()
            .flat_map(|table| {
                let keys = table.pairs(TO_POD).map(|(key, _)| key);
                let values = [AS_ADDRESS, HOST].map(|map| table.pairs(map).map(|(_, value)| value));
                keys.chain(values.into_iter().flatten()).filter_map(text)
            })
            .filter(|address| !addresses.contains_key(address))
            .collect();
        expected
    }

    /// Whether no connection can contradict it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
            && self.closed.is_empty()
            && self.addresses.is_empty()
            && self.gone.is_empty()
    }

    /// Whether the connection has to be forgotten.
    #[must_use]
    pub fn contradicts(&self, connection: &Connection) -> bool {
        let Connection {
            source,
            destination,
            reply_source,
            reply_destination,
            mark,
        } = *connection;
        let ours = mark & self.mask;
        if let Some(pod) = self.pods.get(&source) {
            let right = ours == pod.mark && reply_destination == pod.address;
            if pod.destinations.wanted(reply_source) && !right {
                return true;
            }
        }
        if let Some(destinations) = self.closed.get(&source)
            && (ours != 0 || destinations.guarded(reply_source))
        {
            return true;
        }
        if let Some(reached) = self.addresses.get(&destination)
            && reply_source != *reached
        {
            return true;
        }
        let of_probe = self.probed.contains(&source) && ours == self.probe_mark;
        if let Some(reached) = self.addresses.get(&reply_destination)
            && source != *reached
            && !of_probe
        {
            return true;
        }
        self.gone.contains(&destination) || self.gone.contains(&reply_destination)
    }
}
