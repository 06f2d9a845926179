//! The nftables rules of the probe. The node part opens connections from the static address of a pod with a
//! transparent socket and receives their replies. The pod receives all other packets.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::expressions::{concat, equal, ip_field, masked, not_equal};
use super::settings::NodeSettings;
use super::table::{Chain, Hook, Set, Table};

/// Set: interface and static address of each pod that is probed.
const PROBED: &str = "probed";
/// The chain for the replies to probe connections.
const RESTORE: &str = "restore_probe";

/// The verdict of the map `restore` for probe connections.
pub(super) fn restore() -> Value {
    json!({ "goto": { "target": RESTORE } })
}

/// Adds the rules of the probe. Adds nothing if no address of a pod is probed.
pub(super) fn add(table: &mut Table, probed: Vec<(&str, Ipv4Addr)>, settings: &NodeSettings) {
    if probed.is_empty() {
        return;
    }
    let elements = probed
        .into_iter()
        .map(|(link, address)| concat(link, &address.to_string()));
    let key = json!(["ifname", "ipv4_addr"]);
    let set = Set::new(key, None, false, elements.collect());
    table.sets.insert(PROBED.to_owned(), set);

    let on = |interface: &str, field: &str| {
        let interface = json!({ "meta": { "key": interface } });
        let both = json!({ "concat": [interface, ip_field(field)] });
        equal(&both, &json!(format!("@{PROBED}")))
    };
    // nft prints this form if all bits of the mask are set.
    let set = |key: &str| {
        let key = json!({ key: { "key": "mark" } });
        let value = json!({ "|": [key, settings.probe_mark()] });
        json!({ "mangle": { "key": key, "value": value } })
    };
    // Only a probe sends from this node with a mark of Mooring and a source address that the node does not have.
    let ours = not_equal(&masked("meta", settings.mark_mask()), &json!(0));
    let source = json!({ "fib": { "result": "type", "flags": ["saddr"] } });
    let not_local = not_equal(&source, &json!("local"));
    let out = vec![
        json!([on("oifname", "saddr"), set("ct"), { "return": null }]),
        json!([ours, not_local, { "drop": null }]),
    ];
    // After conntrack (-200).
    let hook = Some(Hook::new("filter", "output", -140));
    table
        .chains
        .insert("probe".to_owned(), Chain { hook, rules: out });
    let back = Chain {
        hook: None,
        rules: vec![json!([on("iifname", "daddr"), set("meta")])],
    };
    table.chains.insert(RESTORE.to_owned(), back);
}
