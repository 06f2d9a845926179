//! Parts of nftables rules, in the JSON form that `nft -j` prints.

use ipnet::Ipv4Net;
use serde_json::{Value, json};

/// A network, as an element of a set.
pub(super) fn network(network: Ipv4Net) -> Value {
    let address = network.network().to_string();
    match network.prefix_len() {
        32 => json!(address),
        length => json!({ "prefix": { "addr": address, "len": length } }),
    }
}

/// Interface and address, as the key of a map.
pub(super) fn concat(link: &str, address: &str) -> Value {
    json!({ "concat": [link, address] })
}

/// The interface that a packet leaves by, and its source.
pub(super) fn leaving_by() -> Value {
    json!({ "concat": [{ "meta": { "key": "oifname" } }, ip_field("saddr")] })
}

/// A field of the IPv4 header.
pub(super) fn ip_field(field: &str) -> Value {
    json!({ "payload": { "protocol": "ip", "field": field } })
}

/// A reference to a map.
pub(super) fn map(name: &str) -> String {
    format!("@{name}")
}

/// The destination is in a set.
pub(super) fn in_set(name: &str) -> Value {
    equal(&ip_field("daddr"), &json!(format!("@{name}")))
}

/// The bits of a mark that `mask` selects. `key` is `ct` or `meta`.
pub(super) fn masked(key: &str, mask: u32) -> Value {
    json!({ "&": [{ key: { "key": "mark" } }, mask] })
}

/// The packet begins a connection.
pub(super) fn ct_new() -> Value {
    json!({ "match": { "op": "in", "left": { "ct": { "key": "state" } }, "right": "new" } })
}

/// The destination of the connection is translated.
pub(super) fn ct_translated() -> Value {
    json!({ "match": { "op": "in", "left": { "ct": { "key": "status" } }, "right": "dnat" } })
}

/// The destination before any translation.
pub(super) fn original_destination() -> Value {
    json!({ "ct": { "key": "ip daddr", "dir": "original" } })
}

/// Whether the route back to the source is the interface of arrival.
pub(super) fn way_back() -> Value {
    json!({ "fib": { "result": "oif", "flags": ["saddr", "iif"] } })
}

/// `left` equals `right`.
pub(super) fn equal(left: &Value, right: &Value) -> Value {
    json!({ "match": { "op": "==", "left": left, "right": right } })
}

/// `left` does not equal `right`.
pub(super) fn not_equal(left: &Value, right: &Value) -> Value {
    json!({ "match": { "op": "!=", "left": left, "right": right } })
}
