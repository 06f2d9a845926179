//! The nftables rules for ICMP errors that the node itself sends because of a connection of a static address, such as
//! "fragmentation needed". Conntrack gives them the static address as their source, so they must leave by the ENI.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::expressions::{equal, ip_field, masked, not_equal};
use super::settings::NodeSettings;
use super::table::{Chain, Hook, Set, Table};

/// `linux/in.h`. The name of a protocol is not used: `nft` knows it only where `/etc/protocols` exists.
const IPPROTO_ICMP: u32 = 1;

/// Set: the addresses of the pods that have static addresses.
pub(super) const PODS: &str = "pods";

/// Adds the rules. An error that is sent to a pod takes the way of the CNI.
pub(super) fn add(
    table: &mut Table,
    pods: impl Iterator<Item = Ipv4Addr>,
    settings: &NodeSettings,
) {
    let elements = pods.map(|pod| Value::from(pod.to_string())).collect();
    let set = Set::new(json!("ipv4_addr"), None, false, elements);
    table.sets.insert(PODS.to_owned(), set);
    let protocol = json!({ "meta": { "key": "l4proto" } });
    let state = json!({ "ct": { "key": "state" } });
    let rule = json!([
        equal(&protocol, &json!(IPPROTO_ICMP)),
        { "match": { "op": "in", "left": state, "right": "related" } },
        not_equal(&ip_field("daddr"), &json!(format!("@{PODS}"))),
        { "vmap": { "key": masked("ct", settings.mark_mask()), "data": "@restore" } },
    ]);
    // A chain of this type looks up the route again if the mark changes. The priority is that of `mangle`.
    let chain = Chain {
        hook: Some(Hook::new("route", "output", -150)),
        rules: vec![rule],
    };
    table.chains.insert("errors".to_owned(), chain);
}
