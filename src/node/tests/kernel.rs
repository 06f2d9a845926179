//! A simulated kernel: how each change affects it.

use serde_json::Value;

use crate::node::desired::desired;
use crate::node::difference::{Change, difference};
use crate::node::objects::Objects;
use crate::node::settings::NodeSettings;
use crate::node::state::KernelState;
use crate::node::table::{Chain, Hook, Set, Table};

/// The changes that are necessary now.
pub fn changes(objects: &Objects, kernel: &KernelState) -> Vec<Change> {
    let settings = NodeSettings::default();
    difference(&desired(objects, kernel, &settings), kernel, &settings)
}

/// Compares and applies until no change is left.
pub fn settle(objects: &Objects, kernel: &mut KernelState) {
    for _ in 0..4 {
        let changes = changes(objects, kernel);
        if changes.is_empty() {
            return;
        }
        for change in &changes {
            apply(kernel, change);
        }
    }
    panic!("it does not come to rest: {:#?}", changes(objects, kernel));
}

pub fn apply(kernel: &mut KernelState, change: &Change) {
    match change {
        Change::AddRoute(route) => {
            let same = kernel
                .routes
                .iter()
                .any(|other| (other.table, other.to) == (route.table, route.to));
            assert!(!same, "the kernel answers EEXIST to {change}");
            kernel.routes.insert(*route);
        }
        Change::ReplaceRoute(route) => {
            kernel
                .routes
                .retain(|other| (other.table, other.to) != (route.table, route.to));
            kernel.routes.insert(*route);
        }
        Change::RemoveRoute(route) => assert!(kernel.routes.remove(route), "{change}"),
        Change::AddRule(rule) => assert!(kernel.rules.insert(rule.clone()), "{change}"),
        Change::RemoveRule(rule) => assert!(kernel.rules.remove(rule), "{change}"),
        Change::AddAddress(local) => assert!(kernel.addresses.insert(*local), "{change}"),
        Change::RemoveAddress(local) => {
            assert!(local.ours, "{change} is another program's");
            assert!(kernel.addresses.remove(local), "{change}");
        }
        Change::SetReversePath { link, value, .. } => {
            kernel.links.get_mut(link).unwrap().rp_filter = *value;
        }
        Change::ForgetConnections(_) => {}
        Change::RemoveTable => kernel.table = None,
        Change::ReplaceTable(table) => kernel.table = Some(table.clone()),
        Change::UpdateTable(transaction) => {
            let mut table = kernel.table.take().unwrap_or_default();
            for command in transaction["nftables"].as_array().unwrap() {
                run(&mut table, command);
            }
            kernel.table = Some(table);
        }
    }
    kernel.read_stored();
}

/// Runs one command of a transaction, with the checks that the kernel makes.
fn run(table: &mut Table, command: &Value) {
    let (verb, object) = command.as_object().unwrap().iter().next().unwrap();
    let (kind, fields) = object.as_object().unwrap().iter().next().unwrap();
    let name = fields["name"]
        .as_str()
        .or_else(|| fields["chain"].as_str())
        .unwrap_or_default();
    match (verb.as_str(), kind.as_str()) {
        ("add", "table") => {}
        ("add", "chain") => {
            let hook = fields.get("hook").map(|hook| {
                let text = |field: &str| fields[field].as_str().unwrap().to_owned();
                let priority = fields["prio"].as_i64().unwrap();
                Hook {
                    kind: text("type"),
                    hook: hook.as_str().unwrap().to_owned(),
                    priority,
                    policy: text("policy"),
                }
            });
            table.chains.insert(
                name.to_owned(),
                Chain {
                    hook,
                    rules: Vec::new(),
                },
            );
        }
        ("add", "set" | "map") => {
            let value = fields.get("map").and_then(Value::as_str);
            let elements = fields
                .get("elem")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            let set = Set::new(
                fields["type"].clone(),
                value,
                fields.get("flags").is_some(),
                elements,
            );
            table.sets.insert(name.to_owned(), set);
        }
        ("add", "element") => {
            let set = table.sets.get_mut(name).unwrap();
            let mut elements = set.elements.clone();
            elements.extend(fields["elem"].as_array().unwrap().iter().cloned());
            set.elements = Set::new(Value::Null, None, false, elements).elements;
        }
        ("delete", "element") => {
            for element in fields["elem"].as_array().unwrap() {
                let set = table.sets.get_mut(name).unwrap();
                let at = set
                    .elements
                    .iter()
                    .position(|present| present == element)
                    .unwrap();
                set.elements.remove(at);
            }
        }
        ("add", "rule") => {
            let rules = &mut table.chains.get_mut(name).unwrap().rules;
            rules.push(fields["expr"].clone());
        }
        ("flush", "chain") => table.chains.get_mut(name).unwrap().rules.clear(),
        ("delete", "chain") => {
            table.chains.remove(name).unwrap();
            let text = format!("{table:?}");
            assert!(
                !text.contains(&format!("\"{name}\") }}")),
                "{name} is still referred to: {text}"
            );
        }
        ("delete", "set" | "map") => drop(table.sets.remove(name).unwrap()),
        other => panic!("{other:?}"),
    }
}
