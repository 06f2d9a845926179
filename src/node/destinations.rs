//! The destinations to which a pod sends with its static address as the source.

use std::collections::BTreeMap;
use std::iter::successors;
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
    /// The part of `routes` to which packets leave with the static address or are dropped. The most specific route to a
    /// destination decides.
    pub required: Vec<Ipv4Net>,
}

impl Destinations {
    /// Aggregates the internal networks and the routes.
    #[must_use]
    pub fn new<'a>(
        internal: impl IntoIterator<Item = Ipv4Net>,
        routes: impl IntoIterator<Item = &'a Route>,
    ) -> Self {
        let mut routes: Vec<&Route> = routes.into_iter().collect();
        // From the widest to the narrowest, so that the most specific route decides. Of two to the same network (of the
        // block and of the IP) the required one does.
        routes.sort_by_key(|route| (route.to.prefix_len(), !route.optional));
        let all: Vec<_> = routes.iter().map(|route| route.to).collect();
        let mut required = Vec::new();
        for route in routes {
            if route.optional {
                required = without(required, &[route.to]);
            } else {
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

    /// The destinations while it is not known which of these a pod has: each guards what it guards alone. So an internal
    /// network of one of them is not left out of the routes of another one.
    #[must_use]
    pub fn any_of(all: impl IntoIterator<Item = Self>) -> Self {
        let (mut routes, mut required) = (Vec::new(), Vec::new());
        for one in all {
            routes.extend(without(one.routes, &one.internal));
            required.extend(without(one.required, &one.internal));
        }
        Self {
            internal: Vec::new(),
            routes: Ipv4Net::aggregate(&routes),
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

/// What is left of the networks without the holes.
fn without(networks: Vec<Ipv4Net>, holes: &[Ipv4Net]) -> Vec<Ipv4Net> {
    let mut left = networks;
    for hole in holes {
        let rest = |network: Ipv4Net| rest(network, *hole);
        left = left.into_iter().flat_map(rest).collect();
    }
    left
}

/// What is left of one network without the hole.
fn rest(network: Ipv4Net, hole: Ipv4Net) -> Vec<Ipv4Net> {
    if hole.contains(&network) {
        return Vec::new();
    }
    if !network.contains(&hole) {
        return vec![network];
    }
    // The other half of each network between the hole and `network`.
    successors(Some(hole), Ipv4Net::supernet)
        .take_while(|inner| *inner != network)
        .filter_map(|inner| {
            let mut halves = inner.supernet()?.subnets(inner.prefix_len()).ok()?;
            halves.find(|half| *half != inner)
        })
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(texts: &[&str]) -> Vec<Ipv4Net> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn required(to: &str) -> Route {
        Route {
            to: to.parse().unwrap(),
            via: None,
            optional: false,
        }
    }

    /// Checks which addresses the destinations guard.
    fn expect(destinations: &Destinations, guarded: &[&str], free: &[&str]) {
        for (addresses, expected) in [(guarded, true), (free, false)] {
            for address in addresses {
                let found = destinations.guarded(address.parse().unwrap());
                assert_eq!(found, expected, "{address}: {destinations:?}");
            }
        }
    }

    #[test]
    fn of_several_destinations_each_guards_what_it_guards_alone() {
        let everything = Destinations::new(networks(&["10.0.0.0/8"]), &[required("0.0.0.0/0")]);
        let within = Destinations::new(networks(&["192.0.2.0/24"]), &[required("10.1.0.0/16")]);
        let both = Destinations::any_of([everything, within]);
        expect(
            &both,
            &["0.0.0.0", "192.0.2.1", "10.1.2.3", "255.255.255.255"],
            &["10.0.0.1", "10.2.0.0", "10.255.255.255"],
        );
    }

    #[test]
    fn the_most_specific_route_decides_whether_packets_are_dropped() {
        let optional = |to: &str| Route {
            optional: true,
            ..required(to)
        };
        let routes = [
            required("198.51.100.128/25"),
            optional("198.51.100.0/24"),
            required("0.0.0.0/0"),
            optional("192.0.2.0/24"),
            required("192.0.2.0/24"),
        ];
        let destinations = Destinations::new([], &routes);
        expect(
            &destinations,
            &[
                "198.51.99.255",
                "198.51.100.128",
                "198.51.101.0",
                "192.0.2.1",
            ],
            &["198.51.100.0", "198.51.100.127"],
        );
        assert_eq!(destinations.routes, networks(&["0.0.0.0/0"]));
    }

    #[test]
    fn an_internal_network_of_all_destinations_stays_free() {
        let one = Destinations::new(networks(&["10.0.0.0/8"]), &[required("0.0.0.0/0")]);
        let other = Destinations::new(networks(&["10.1.0.0/16"]), &[required("0.0.0.0/0")]);
        let both = Destinations::any_of([one, other]);
        expect(
            &both,
            &["10.2.0.0", "11.0.0.0"],
            &["10.1.0.0", "10.1.255.255"],
        );
        assert_eq!(Destinations::any_of([]), Destinations::default());
    }
}
