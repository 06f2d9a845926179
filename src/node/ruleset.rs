//! Builds the desired nftables table.
//!
//! Everything that depends on an address is an element of a map, so that the cost of a packet does not depend on
//! the number of addresses. `docs/design/node.md` explains the chains.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::rc::Rc;

use serde_json::{Value, json};

use super::desired::{Address, Desired, Endpoint};
use super::destinations::{Destinations, Names};
use super::expressions::{
    concat, ct_new, ct_translated, equal, in_set, ip_field, leaving_by, map, masked, network,
    not_equal, original_destination, way_back,
};
use super::icmp_rules;
use super::objects::Mac;
use super::probe_rules;
use super::settings::NodeSettings;
use super::state::{AS_ADDRESS, HOST, INTERFACES, KernelState, REVERSE_PATH};
use super::table::{Chain, Hook, Set, Table};
use super::table_update::GUARDED;

/// Map: a static address to the address of its pod.
pub const TO_POD: &str = "to_pod";

/// An address with its slot, the name of its interface, and the name of its destinations.
struct Placed<'a> {
    address: Ipv4Addr,
    to: &'a Address,
    slot: u32,
    link: &'a str,
    destinations: Rc<str>,
}

/// Builds the table. `reverse_path`: the former `rp_filter` of each interface that Mooring changed, by name.
#[must_use]
pub fn table(
    desired: &Desired,
    kernel: &KernelState,
    slots: &BTreeMap<Mac, u32>,
    reverse_path: &BTreeMap<String, u32>,
    settings: &NodeSettings,
) -> Table {
    let mut names = Names::default();
    let placed: Vec<Placed<'_>> = desired
        .addresses
        .iter()
        .filter_map(|(address, to)| {
            Some(Placed {
                address: *address,
                to,
                slot: *slots.get(&to.mac)?,
                link: &kernel.link_by_mac(to.mac).ok()?.name,
                destinations: names.of(&to.destinations),
            })
        })
        .collect();
    let mut table = Table::default();
    base_chains(&mut table, settings);
    // Pods with the same ENI and destinations share their chains: each chain is made once.
    let (mut interfaces, mut pods) = (BTreeSet::new(), BTreeSet::new());
    for one in &placed {
        if interfaces.insert(one.slot) {
            interface_chains(&mut table, one, settings);
        }
        let is_pod = matches!(one.to.endpoint, Endpoint::Pod(_));
        if is_pod && pods.insert((one.slot, &one.destinations)) {
            destination_chains(&mut table, one, settings);
        }
    }
    let closed: BTreeMap<_, _> = desired
        .closed
        .iter()
        .map(|(pod, destinations)| (*pod, names.of(destinations)))
        .collect();
    // Open pods need these chains too: they are closed while the maps change.
    for (destinations, name) in names.all() {
        destination_sets(&mut table, destinations, name);
        let rules = guard_rules(name, settings.mark_mask());
        table
            .chains
            .insert(format!("closed_{name}"), Chain { hook: None, rules });
    }
    maps(&mut table, &placed, &closed, reverse_path, settings);
    let probed = placed
        .iter()
        .filter(|one| one.to.is_probed())
        .map(|one| (one.link, one.address));
    probe_rules::add(&mut table, probed.collect(), settings);
    let pods = placed.iter().filter_map(|one| match one.to.endpoint {
        Endpoint::Pod(pod) => Some(pod),
        Endpoint::Host => None,
    });
    icmp_rules::add(&mut table, pods, settings);
    let interfaces = slots
        .iter()
        .map(|(mac, slot)| json!([mac.to_string(), settings.mark(*slot)]));
    let interfaces = Set::new(
        json!("ether_addr"),
        Some("mark"),
        false,
        interfaces.collect(),
    );
    table.sets.insert(INTERFACES.to_owned(), interfaces);
    table
}

fn base_chains(table: &mut Table, settings: &NodeSettings) {
    let mask = settings.mark_mask();
    let mut chain = |name: &str, hook: Hook, rules: Vec<Value>| {
        let chain = Chain {
            hook: Some(hook),
            rules,
        };
        table.chains.insert(name.to_owned(), chain);
    };
    let (daddr, saddr) = (ip_field("daddr"), ip_field("saddr"));
    let to_pod = json!([{ "dnat": { "addr": { "map": { "key": daddr, "data": map(TO_POD) } } } }]);
    // Most packets belong to a connection that has a mark already. For them this rule is the last one.
    let restore = json!([{ "vmap": { "key": masked("ct", mask), "data": "@restore" } }]);
    // Another pod must not send within a connection of the pod either.
    let foreign = json!([
        not_equal(&masked("ct", mask), &json!(0)),
        equal(&saddr, &json!(map(icmp_rules::PODS))),
        equal(&way_back(), &json!(false)),
        { "drop": null },
    ]);
    let arrived = json!({ "concat": [{ "meta": { "key": "iifname" } }, original_destination()] });
    let arrive = json!([
        ct_new(),
        ct_translated(),
        { "vmap": { "key": arrived, "data": "@arrived" } },
    ]);
    let leave = json!([ct_new(), { "vmap": { "key": saddr, "data": "@leaving" } }]);
    let as_address = json!([
        not_equal(&masked("ct", mask), &json!(0)),
        { "snat": { "addr": { "map": { "key": leaving_by(), "data": map(AS_ADDRESS) } } } },
    ]);
    // Translates the address to itself, because the CNI (priority 100) does not translate a connection a second time.
    let host =
        json!([{ "snat": { "addr": { "map": { "key": leaving_by(), "data": map(HOST) } } } }]);
    chain(
        "translate",
        Hook::new("nat", "prerouting", -110),
        vec![to_pod.clone()],
    );
    chain(
        "translate_local",
        Hook::new("nat", "output", -110),
        vec![to_pod],
    );
    // After kube-proxy has translated Services (priority -100).
    chain(
        "connections",
        Hook::new("filter", "prerouting", -85),
        vec![foreign, restore, arrive, leave],
    );
    let guard = json!([{ "vmap": { "key": saddr, "data": "@guarded" } }]);
    chain("guard", Hook::new("filter", "forward", -10), vec![guard]);
    chain(
        "source",
        Hook::new("nat", "postrouting", 90),
        vec![as_address, host],
    );
}

fn interface_chains(table: &mut Table, one: &Placed<'_>, settings: &NodeSettings) {
    let (slot, keep) = (one.slot, !settings.mark_mask());
    let set = |key: &str| {
        let key = json!({ key: { "key": "mark" } });
        let value = json!({ "|": [{ "&": [key, keep] }, settings.mark(slot)] });
        json!({ "mangle": { "key": key, "value": value } })
    };
    let inward = not_equal(&json!({ "meta": { "key": "iifname" } }), &json!(one.link));
    let restore = json!([inward, set("meta")]);
    let mark = Chain {
        hook: None,
        rules: vec![json!([set("ct")]), restore.clone()],
    };
    let restore = Chain {
        hook: None,
        rules: vec![restore],
    };
    table.chains.insert(format!("mark_{slot}"), mark);
    table.chains.insert(format!("restore_{slot}"), restore);
}

fn destination_chains(table: &mut Table, one: &Placed<'_>, settings: &NodeSettings) {
    let (slot, mask, name) = (one.slot, settings.mark_mask(), &one.destinations);
    let leave = vec![
        json!([in_set(&format!("internal_{name}")), { "return": null }]),
        json!([
            in_set(&format!("routes_{name}")),
            // Another pod cannot use the address of this one.
            equal(&way_back(), &json!(true)),
            { "goto": { "target": format!("mark_{slot}") } },
        ]),
    ];
    let oifname = json!({ "meta": { "key": "oifname" } });
    let right_way = json!([
        equal(&masked("ct", mask), &json!(settings.mark(slot))),
        equal(&oifname, &json!(one.link)),
        { "return": null },
    ]);
    let guard = [vec![right_way], guard_rules(name, mask)].concat();
    table.chains.insert(
        format!("leave_{slot}_{name}"),
        Chain {
            hook: None,
            rules: leave,
        },
    );
    table.chains.insert(
        format!("guard_{slot}_{name}"),
        Chain {
            hook: None,
            rules: guard,
        },
    );
}

/// Rules that drop packets of a connection with the mark of an address (the caller first accepts those on the right
/// interface), and packets of other connections to the partners.
fn guard_rules(name: &str, mask: u32) -> Vec<Value> {
    let direction = json!({ "ct": { "key": "direction" } });
    vec![
        json!([not_equal(&masked("ct", mask), &json!(0)), { "drop": null }]),
        json!([equal(&direction, &json!("reply")), { "return": null }]),
        json!([in_set(&format!("internal_{name}")), { "return": null }]),
        json!([in_set(&format!("required_{name}")), { "drop": null }]),
    ]
}

fn destination_sets(table: &mut Table, destinations: &Destinations, name: &str) {
    for (kind, networks) in [
        ("internal", &destinations.internal),
        ("routes", &destinations.routes),
        ("required", &destinations.required),
    ] {
        let elements = networks.iter().copied().map(network).collect();
        let set = Set::new(json!("ipv4_addr"), None, true, elements);
        table.sets.insert(format!("{kind}_{name}"), set);
    }
}

fn maps(
    table: &mut Table,
    placed: &[Placed<'_>],
    closed: &BTreeMap<Ipv4Addr, Rc<str>>,
    reverse_path: &BTreeMap<String, u32>,
    settings: &NodeSettings,
) {
    let (mut to_pod, mut as_address, mut host) = (Vec::new(), Vec::new(), Vec::new());
    let (mut arrived, mut leaving, mut guarded) = (Vec::new(), Vec::new(), Vec::new());
    let mut restore = BTreeMap::new();
    for one in placed {
        let (address, slot) = (one.address.to_string(), one.slot);
        restore.insert(
            settings.mark(slot),
            json!({ "goto": { "target": format!("restore_{slot}") } }),
        );
        if one.to.is_probed() {
            restore.insert(settings.probe_mark(), probe_rules::restore());
            host.push(json!([concat(one.link, &address), address]));
        }
        match one.to.endpoint {
            Endpoint::Host => host.push(json!([concat(one.link, &address), address])),
            Endpoint::Pod(pod) => {
                let (pod, name) = (pod.to_string(), &one.destinations);
                to_pod.push(json!([address, pod]));
                as_address.push(json!([concat(one.link, &pod), address]));
                arrived.push(json!([concat(one.link, &address), { "jump": { "target": format!("mark_{slot}") } }]));
                leaving
                    .push(json!([pod, { "jump": { "target": format!("leave_{slot}_{name}") } }]));
                guarded
                    .push(json!([pod, { "jump": { "target": format!("guard_{slot}_{name}") } }]));
            }
        }
    }
    for (pod, name) in closed {
        let target = format!("closed_{name}");
        guarded.push(json!([pod.to_string(), { "jump": { "target": target } }]));
    }
    let restore = restore
        .into_iter()
        .map(|(mark, jump)| json!([mark, jump]))
        .collect();
    let reverse_path = reverse_path
        .iter()
        .map(|(link, value)| json!([link, value]))
        .collect();
    let (address, both) = (json!("ipv4_addr"), json!(["ifname", "ipv4_addr"]));
    for (name, key, value, elements) in [
        (TO_POD, &address, "ipv4_addr", to_pod),
        (AS_ADDRESS, &both, "ipv4_addr", as_address),
        (HOST, &both, "ipv4_addr", host),
        ("arrived", &both, "verdict", arrived),
        ("leaving", &address, "verdict", leaving),
        (GUARDED, &address, "verdict", guarded),
        ("restore", &json!("mark"), "verdict", restore),
        (REVERSE_PATH, &json!("ifname"), "mark", reverse_path),
    ] {
        let set = Set::new(key.clone(), Some(value), false, elements);
        table.sets.insert(name.to_owned(), set);
    }
}
