//! The rules name no protocol: `nft` knows names only where `/etc/protocols` exists, and the image of the node part may
//! not have it. The listing would always differ from the desired table.

use serde_json::Value;

use crate::node::complete_table::complete;
use crate::node::settings::NodeSettings;

/// The right sides of the matches on `meta l4proto`.
fn protocols(value: &Value, found: &mut Vec<Value>) {
    if value.pointer("/left/meta/key") == Some(&Value::from("l4proto")) {
        found.push(value["right"].clone());
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| protocols(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| protocols(value, found)),
        _ => {}
    }
}

#[test]
fn a_protocol_in_a_rule_is_a_number() {
    let mut found = Vec::new();
    protocols(&complete(&NodeSettings::default()).replace(), &mut found);
    assert!(!found.is_empty(), "nothing was looked at");
    assert!(found.iter().all(Value::is_number), "{found:?}");
}
