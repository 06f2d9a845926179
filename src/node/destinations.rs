//! Where the packets of a pod leave with its address.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::rc::Rc;

use ipnet::Ipv4Net;

use super::objects::Route;

/// Destinations of a pod. All lists are aggregated: sorted, without overlaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destinations {
    /// Never with the address.
    pub internal: Vec<Ipv4Net>,
    /// With the address.
    pub routes: Vec<Ipv4Net>,
    /// Of `routes`: with the address or not at all.
    pub required: Vec<Ipv4Net>,
}

impl Destinations {
    /// Internal networks, and routes.
    #[must_use]
    pub fn new<'a>(
        internal: impl IntoIterator<Item = Ipv4Net>,
        routes: impl IntoIterator<Item = &'a Route>,
    ) -> Self {
        let (mut all, mut required) = (Vec::new(), Vec::new());
        for route in routes {
            all.push(route.to);
            if !route.optional {
                required.push(route.to);
            }
        }
        let internal: Vec<_> = internal.into_iter().collect();
        Self {
            internal: Ipv4Net::aggregate(&internal),
            routes: Ipv4Net::aggregate(&all),
            required: Ipv4Net::aggregate(&required),
        }
    }

    /// Whether packets to it leave with the address.
    #[must_use]
    pub fn wanted(&self, destination: Ipv4Addr) -> bool {
        contains(&self.routes, destination) && !contains(&self.internal, destination)
    }

    /// Whether packets to it are dropped while the address is not programmed.
    #[must_use]
    pub fn guarded(&self, destination: Ipv4Addr) -> bool {
        contains(&self.required, destination) && !contains(&self.internal, destination)
    }
}

fn contains(networks: &[Ipv4Net], address: Ipv4Addr) -> bool {
    networks.iter().any(|network| network.contains(&address))
}

/// The names of destinations, each made once.
#[derive(Debug, Default)]
pub(super) struct Names<'a>(BTreeMap<&'a Destinations, Rc<str>>);

impl<'a> Names<'a> {
    pub(super) fn of(&mut self, destinations: &'a Destinations) -> Rc<str> {
        let name = self.0.entry(destinations);
        Rc::clone(name.or_insert_with(|| fingerprint(destinations).into()))
    }

    /// All that were named.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'a Destinations, &Rc<str>)> {
        self.0
            .iter()
            .map(|(destinations, name)| (*destinations, name))
    }
}

/// A short name for a choice of destinations: FNV-1a, 64 bits. (The hash of Rust can differ between two
/// starts, and each would then replace the table of the other.)
fn fingerprint(destinations: &Destinations) -> String {
    let text = format!("{destinations:?}");
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
