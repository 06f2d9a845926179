//! The desired rules (`ip rule`) and routes.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::Ipv4Net;

use super::desired::{Address, Desired, Endpoint};
use super::objects::Mac;
use super::settings::{MAIN_TABLE, NodeSettings};
use super::state::{KernelState, NextHop, RouteEntry, Rule, Selector};

/// The index of the loopback interface in every network namespace (`LOOPBACK_IFINDEX` of the kernel).
const LOOPBACK: u32 = 1;

/// The routes that are desired.
pub(super) fn routes(
    desired: &Desired,
    kernel: &KernelState,
    slots: &BTreeMap<Mac, u32>,
    settings: &NodeSettings,
) -> BTreeSet<RouteEntry> {
    let everything = Ipv4Net::default();
    let mut by_table: BTreeMap<(u32, Ipv4Net), RouteEntry> = BTreeMap::new();
    for address in desired.addresses.values() {
        let (Some(slot), Ok((link, _))) =
            (slots.get(&address.mac), kernel.indexed_by_mac(address.mac))
        else {
            continue;
        };
        let table = settings.table(*slot);
        let route = |to, via| RouteEntry {
            table,
            to,
            via: NextHop::Gateway(via),
            link,
        };
        by_table
            .entry((table, everything))
            .or_insert_with(|| route(everything, address.gateway));
        for (to, via) in &address.gateways {
            by_table.insert((table, *to), route(*to, *via));
        }
    }
    // Delivers packets for a pod to the node part if they have the mark of the probe. The route is only for the subnet:
    // with a route to 0.0.0.0/0 the source of the packet would count as local, and the kernel would drop the packet
    // where net.ipv4.conf.*.src_valid_mark is 1.
    for to in probed_pods(desired, slots) {
        let table = settings.probe_table();
        let local = RouteEntry {
            table,
            to: to.subnet,
            via: NextHop::Local,
            link: LOOPBACK,
        };
        by_table.insert((table, to.subnet), local);
    }
    by_table.into_values().collect()
}

/// The rules that are desired.
pub(super) fn rules(
    desired: &Desired,
    kernel: &KernelState,
    slots: &BTreeMap<Mac, u32>,
    settings: &NodeSettings,
) -> BTreeSet<Rule> {
    let mut rules = BTreeSet::new();
    let bits = settings.mark_mask();
    for (address, to) in &desired.addresses {
        let (Some(slot), Ok(link)) = (slots.get(&to.mac), kernel.link_by_mac(to.mac)) else {
            continue;
        };
        let mark = settings.mark(*slot);
        let selector = match to.endpoint {
            Endpoint::Host => {
                // A pod of this node is reached by its interface. Wider routes stay out: by that of another subnet
                // packets would leave by an ENI that does not have the address.
                let selector = Selector::FromToSingle(*address);
                let table = MAIN_TABLE;
                rules.insert(Rule { selector, table });
                Selector::From(*address)
            }
            Endpoint::Pod(_) => {
                // Where src_valid_mark is 1, the kernel looks up the way back to a pod with the mark of its packet. Without
                // this rule that way would be the ENI, and the kernel would drop the packet. Wider routes stay out: the
                // CNI can have a route to the pod in another table. It is one rule for each ENI and not one for each pod,
                // because the kernel walks all rules for each packet.
                let selector = Selector::WayBack {
                    mark,
                    mask: bits,
                    link: link.name.clone(),
                };
                let table = MAIN_TABLE;
                rules.insert(Rule { selector, table });
                Selector::Mark { mark, mask: bits }
            }
        };
        let table = settings.table(*slot);
        rules.insert(Rule { selector, table });
    }
    if probed_pods(desired, slots).next().is_some() {
        let selector = Selector::Mark {
            mark: settings.probe_mark(),
            mask: settings.mark_mask(),
        };
        let table = settings.probe_table();
        rules.insert(Rule { selector, table });
    }
    rules
}

/// The pod addresses from which the node part opens probe connections.
fn probed_pods<'a>(
    desired: &'a Desired,
    slots: &'a BTreeMap<Mac, u32>,
) -> impl Iterator<Item = &'a Address> {
    let probed = desired.probed_pods().map(|(_, to)| to);
    probed.filter(|to| slots.contains_key(&to.mac))
}
