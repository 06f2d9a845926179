//! The destinations to which a pod sends with its static address as the source.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::rc::Rc;

use ipnet::Ipv4Net;

use super::objects::Route;

/// Destinations of a pod. Each list is aggregated: sorted, without overlaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destinations {
    /// Networks to which packets never leave with the static address. They take precedence over `routes`.
    pub internal: Vec<Ipv4Net>,
    /// Networks to which packets leave with the static address.
    pub routes: Vec<Ipv4Net>,
    /// The part of `routes` to which packets leave with the static address or are dropped.
    pub required: Vec<Ipv4Net>,
}

impl Destinations {
    /// Aggregates the internal networks and the routes.
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

    /// Whether packets to `destination` leave with the static address.
    #[must_use]
    pub fn uses_static_address(&self, destination: Ipv4Addr) -> bool {
        contains(&self.routes, destination) && !contains(&self.internal, destination)
    }

    /// Whether packets to `destination` are dropped while the static address is not programmed.
    #[must_use]
    pub fn guarded(&self, destination: Ipv4Addr) -> bool {
        contains(&self.required, destination) && !contains(&self.internal, destination)
    }
}

fn contains(networks: &[Ipv4Net], address: Ipv4Addr) -> bool {
    networks.iter().any(|network| network.contains(&address))
}

/// The name of each set of destinations, computed once.
#[derive(Debug, Default)]
pub(super) struct Names<'a>(BTreeMap<&'a Destinations, Rc<str>>);

impl<'a> Names<'a> {
    pub(super) fn of(&mut self, destinations: &'a Destinations) -> Rc<str> {
        let name = self.0.entry(destinations);
        Rc::clone(name.or_insert_with(|| fingerprint(destinations).into()))
    }

    /// All destinations that were passed to [`Self::of`], with their names.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'a Destinations, &Rc<str>)> {
        self.0
            .iter()
            .map(|(destinations, name)| (*destinations, name))
    }
}

/// A short name for a set of destinations: FNV-1a, 64 bits. The name must be the same in every process: the hasher
/// of the standard library is not stable, so that each new process would replace the table of the one before.
fn fingerprint(destinations: &Destinations) -> String {
    let text = format!("{destinations:?}");
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
