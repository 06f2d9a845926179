//! The changes that the kernel needs: a pure function of the desired state and of what the kernel
//! shows. It never changes anything that another program owns.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;

use serde_json::Value;

use super::connections::Expected;
use super::desired::{Desired, Endpoint};
use super::routing;
use super::ruleset;
use super::settings::NodeSettings;
use super::slots;
use super::state::{KernelState, LocalAddress, RouteEntry, Rule};
use super::table::Table;
use super::table_update::transactions;

/// `rp_filter` loose: a packet may arrive on an interface that is not the route back to its source.
const LOOSE: u32 = 2;
/// `rp_filter` off.
const OFF: u32 = 0;

/// One change of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Add a route.
    AddRoute(RouteEntry),
    /// Change the gateway or the interface of a route of Mooring.
    ReplaceRoute(RouteEntry),
    /// Add a rule.
    AddRule(Rule),
    /// Remove an address that Mooring added.
    RemoveAddress(LocalAddress),
    /// Run one of the transactions that turn the present nftables table into the desired one.
    UpdateTable(Value),
    /// Replace the present nftables table, which cannot be updated, with this one.
    ReplaceTable(Table),
    /// Set `rp_filter` of an interface.
    SetReversePath {
        /// The index of the interface.
        link: u32,
        /// The name of the interface.
        name: String,
        /// 0 off, 1 strict, 2 loose.
        value: u32,
    },
    /// Add an address.
    AddAddress(LocalAddress),
    /// Delete the conntrack entries that contradict the desired state, and give those with the mark of an earlier slot
    /// the present one.
    ForgetConnections(Expected),
    /// Remove a rule of Mooring.
    RemoveRule(Rule),
    /// Remove a route of Mooring.
    RemoveRoute(RouteEntry),
    /// Remove the nftables table.
    RemoveTable,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut route = |verb, route: &RouteEntry| {
            let RouteEntry {
                table,
                to,
                via,
                link,
            } = route;
            write!(
                f,
                "{verb} the route to {to} by {via} on interface {link} in table {table}"
            )
        };
        match self {
            Self::AddRoute(entry) => route("adding", entry),
            Self::ReplaceRoute(entry) => route("replacing", entry),
            Self::RemoveRoute(entry) => route("removing", entry),
            Self::AddRule(rule) => write!(f, "adding the rule {rule}"),
            Self::RemoveRule(rule) => write!(f, "removing the rule {rule}"),
            Self::AddAddress(local) => {
                write!(
                    f,
                    "adding {}/{} to interface {}",
                    local.address, local.prefix, local.link
                )
            }
            Self::RemoveAddress(local) => {
                write!(
                    f,
                    "removing {}/{} from interface {}",
                    local.address, local.prefix, local.link
                )
            }
            Self::SetReversePath { name, value, .. } => {
                write!(f, "setting rp_filter of {name} to {value}")
            }
            Self::UpdateTable(_) => f.write_str("updating the nftables table"),
            Self::ReplaceTable(_) => f.write_str("replacing the nftables table"),
            Self::RemoveTable => f.write_str("removing the nftables table"),
            Self::ForgetConnections(_) => {
                f.write_str("forgetting or marking connections that contradict the desired state")
            }
        }
    }
}

/// The changes that the kernel needs, in the order in which they must be made.
///
/// At each point of the sequence, also if it stops there, every packet is dropped or has its right source:
/// rules and routes are added before the table marks packets for them and removed after the table stops doing so;
/// an address is on an interface only while the table keeps its source.
#[must_use]
pub fn difference(desired: &Desired, kernel: &KernelState, settings: &NodeSettings) -> Vec<Change> {
    let slots = slots::slots(desired, kernel, settings);
    let routes = routing::routes(desired, kernel, &slots, settings);
    let rules = routing::rules(desired, kernel, &slots, settings);
    let addresses = addresses(desired, kernel);
    let (set, before) = reverse_path(desired, kernel);
    let table = ruleset::table(desired, kernel, &slots, &before, settings);
    // If no block uses the node part, the table is removed too, after the entries of its connections were deleted.
    let table = (desired.enabled || kernel.table.is_some()).then_some(table);

    let mut changes = Vec::new();
    let present: BTreeSet<_> = kernel
        .routes
        .iter()
        .map(|route| (route.table, route.to))
        .collect();
    changes.extend(routes.difference(&kernel.routes).map(|route| {
        if present.contains(&(route.table, route.to)) {
            Change::ReplaceRoute(*route)
        } else {
            Change::AddRoute(*route)
        }
    }));
    changes.extend(
        rules
            .difference(&kernel.rules)
            .cloned()
            .map(Change::AddRule),
    );
    let ours: BTreeSet<_> = kernel
        .addresses
        .iter()
        .filter(|entry| entry.ours)
        .copied()
        .collect();
    changes.extend(
        ours.difference(&addresses)
            .copied()
            .map(Change::RemoveAddress),
    );
    let expected = Expected::new(desired, &slots, kernel, settings);
    let replaced = table.filter(|table| Some(table) != kernel.table.as_ref());
    let reprogrammed = replaced.is_some();
    let mut open = None;
    if let Some(table) = replaced {
        match transactions(kernel.table.as_ref(), &table) {
            Some(updates) => {
                changes.extend(updates.change.into_iter().map(Change::UpdateTable));
                open = updates.open.map(Change::UpdateTable);
            }
            None => changes.push(Change::ReplaceTable(table)),
        }
    }
    changes.extend(set);
    let present: BTreeSet<_> = kernel
        .addresses
        .iter()
        .filter(|entry| entry.prefix == 32)
        .map(|entry| (entry.link, entry.address))
        .collect();
    // Another program may have added the same address. That is enough, and Mooring does not become its owner.
    changes.extend(
        addresses
            .iter()
            .filter(|entry| !present.contains(&(entry.link, entry.address)))
            .copied()
            .map(Change::AddAddress),
    );
    // Without one of them a new connection left by another interface, with the source that it has there.
    let completed = changes.iter().any(|change| {
        matches!(
            change,
            Change::AddRoute(_)
                | Change::ReplaceRoute(_)
                | Change::AddRule(_)
                | Change::AddAddress(_)
        )
    });
    if (reprogrammed || completed || kernel.uncorrected.is_some()) && !expected.is_empty() {
        changes.push(Change::ForgetConnections(expected));
    }
    changes.extend(open);
    changes.extend(
        kernel
            .rules
            .difference(&rules)
            .cloned()
            .map(Change::RemoveRule),
    );
    let kept: BTreeSet<_> = routes.iter().map(|route| (route.table, route.to)).collect();
    let useless = kernel
        .routes
        .iter()
        .filter(|route| !kept.contains(&(route.table, route.to)));
    changes.extend(useless.copied().map(Change::RemoveRoute));
    if !desired.enabled && kernel.table.is_some() {
        changes.push(Change::RemoveTable);
    }
    changes
}

fn addresses(desired: &Desired, kernel: &KernelState) -> BTreeSet<LocalAddress> {
    let host = |(address, to): (&Ipv4Addr, &super::desired::Address)| match to.endpoint {
        Endpoint::Host => Some(LocalAddress {
            link: kernel.indexed_by_mac(to.mac).ok()?.0,
            address: *address,
            prefix: 32,
            ours: true,
        }),
        Endpoint::Pod(_) => None,
    };
    desired.addresses.iter().filter_map(host).collect()
}

/// The `rp_filter` that an ENI with static addresses needs. If an interface has no address, the kernel drops with loose
/// what it drops with strict (`__fib_validate_source`), so there it is off.
fn reverse_path_of(link: u32, kernel: &KernelState) -> u32 {
    if kernel.all_reverse_path == OFF && !kernel.has_address(link) {
        OFF
    } else {
        LOOSE
    }
}

/// The changes of `rp_filter`, and the former value of each interface that Mooring changes (by name).
fn reverse_path(desired: &Desired, kernel: &KernelState) -> (Vec<Change>, BTreeMap<String, u32>) {
    let recorded = &kernel.reverse_path;
    let used: BTreeSet<u32> = desired
        .addresses
        .values()
        .filter_map(|to| Some(kernel.indexed_by_mac(to.mac).ok()?.0))
        .collect();
    let (mut changes, mut before) = (Vec::new(), BTreeMap::new());
    for (link, shown) in &kernel.links {
        let was = recorded.get(&shown.name).copied();
        let wanted = if used.contains(link) {
            let value = reverse_path_of(*link, kernel);
            if let Some(was) = was.or((shown.rp_filter != value).then_some(shown.rp_filter)) {
                before.insert(shown.name.clone(), was);
            }
            Some(value)
        } else {
            // The former value stays recorded until the kernel shows that it is restored.
            if let Some(was) = was.filter(|was| *was != shown.rp_filter) {
                before.insert(shown.name.clone(), was);
            }
            was
        };
        if let Some(value) = wanted.filter(|value| *value != shown.rp_filter) {
            changes.push(Change::SetReversePath {
                link: *link,
                name: shown.name.clone(),
                value,
            });
        }
    }
    (changes, before)
}
