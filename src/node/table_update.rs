//! The transactions that turn one nftables table into another while packets pass.
//!
//! A packet passes several hooks, and a transaction can be committed between two of them. A new base chain is called
//! before the one that it replaces, and it is empty until the commit. So base chains are kept, and the maps change
//! in three transactions:
//!
//! 1. Each pod whose rules change is closed.
//! 2. Everything else changes.
//! 3. The pods that must be open are opened, and objects without references are deleted.
//!
//! Before the third transaction the conntrack entries that contradict the desired state are deleted: their packets
//! would pass with the former source.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use super::table::{Set, Table, command};

/// Map: the address of a pod to the chain that drops or accepts its packets.
pub const GUARDED: &str = "guarded";

/// The transactions from one table to another.
#[derive(Debug)]
pub struct Transactions {
    /// The first two transactions, without those that change nothing.
    pub change: Vec<Value>,
    /// The third transaction. None: it changes nothing.
    pub open: Option<Value>,
}

/// The transactions from one table to another, in order. None: the table must be replaced, because a chain has another
/// hook, a set has another type, or the table contains objects that Mooring does not know.
#[must_use]
pub fn transactions(before: Option<&Table>, after: &Table) -> Option<Transactions> {
    let none = Table::default();
    let present = before.unwrap_or(&none);
    if !present.unknown.is_empty() || !fits(present, after) {
        return None;
    }
    let mut closed = present.clone();
    closed.chains.extend(after.chains.clone());
    for (name, set) in &after.sets {
        closed.sets.entry(name.clone()).or_insert_with(|| Set {
            // Sets are filled before anything refers to them, maps after everything that they refer to exists.
            elements: match set.value {
                None => set.elements.clone(),
                Some(_) => Vec::new(),
            },
            ..set.clone()
        });
    }
    let guarded = closing(present, after);
    if let Some(set) = closed.sets.get_mut(GUARDED) {
        set.elements.clone_from(&guarded);
    }
    let mut switched = closed.clone();
    for (name, set) in &after.sets {
        if name != GUARDED {
            switched.sets.insert(name.clone(), set.clone());
        }
    }
    let mut first = commands(present, &closed);
    if before.is_none() {
        first.insert(0, command("add", "table", json!({})));
    }
    let second = commands(&closed, &switched);
    Some(Transactions {
        change: [&first, &second]
            .into_iter()
            .filter_map(|commands| transaction(commands))
            .collect(),
        open: transaction(&commands(&switched, after)),
    })
}

fn transaction(commands: &[Value]) -> Option<Value> {
    (!commands.is_empty()).then(|| json!({ "nftables": commands }))
}

fn fits(before: &Table, after: &Table) -> bool {
    let chains = after.chains.iter().all(|(name, chain)| {
        before
            .chains
            .get(name)
            .is_none_or(|present| present.hook == chain.hook)
    });
    let sets = after.sets.iter().all(|(name, set)| {
        before.sets.get(name).is_none_or(|present| {
            (&present.key, &present.value, &present.flags) == (&set.key, &set.value, &set.flags)
        })
    });
    chains && sets
}

/// The elements of the map `guarded` while other maps change: each pod whose rules change is closed.
fn closing(before: &Table, after: &Table) -> Vec<Value> {
    let element = |table: &Table| -> BTreeMap<String, Value> {
        table
            .pairs(GUARDED)
            .map(|(pod, jump)| (pod.to_string(), json!([pod, jump])))
            .collect()
    };
    let (before, after) = (element(before), element(after));
    let mut closed = before.clone();
    for (pod, jump) in before.iter().chain(&after) {
        let (was, becomes) = (before.get(pod), after.get(pod));
        if was == becomes {
            continue;
        }
        let shut = close(becomes.unwrap_or(jump));
        closed.insert(pod.clone(), shut);
    }
    closed.into_values().collect()
}

/// Replaces the chain `guard_<slot>_<destinations>`, which accepts the right packets, with `closed_<destinations>`,
/// which does not.
fn close(element: &Value) -> Value {
    let mut element = element.clone();
    if let Some(target) = element.pointer_mut("/1/jump/target")
        && let Some(destinations) = target.as_str().and_then(|name| name.strip_prefix("guard_"))
        && let Some((_, destinations)) = destinations.split_once('_')
    {
        *target = Value::from(format!("closed_{destinations}"));
    }
    element
}

fn commands(from: &Table, to: &Table) -> Vec<Value> {
    let mut commands = Vec::new();
    for (name, chain) in &to.chains {
        if !from.chains.contains_key(name) {
            commands.push(command("add", "chain", chain.fields(name)));
        }
    }
    for (name, set) in &to.sets {
        match from.sets.get(name) {
            None => commands.push(command("add", set.kind(), set.fields(name))),
            Some(present) => {
                let gone = without(&present.elements, &set.elements);
                let new = without(&set.elements, &present.elements);
                for (verb, elements) in [("delete", gone), ("add", new)] {
                    if !elements.is_empty() {
                        let fields = json!({ "name": name, "elem": elements });
                        commands.push(command(verb, "element", fields));
                    }
                }
            }
        }
    }
    for (name, chain) in &to.chains {
        let present = from.chains.get(name);
        let rules = present.map_or(&[][..], |present| &present.rules);
        if rules != chain.rules {
            if !rules.is_empty() {
                commands.push(command("flush", "chain", json!({ "name": name })));
            }
            commands.extend(
                chain
                    .rules
                    .iter()
                    .map(|rule| command("add", "rule", json!({ "chain": name, "expr": rule }))),
            );
        }
    }
    // First delete all references, then the objects that they refer to.
    let gone = || {
        from.chains
            .iter()
            .filter(|(name, _)| !to.chains.contains_key(*name))
    };
    let emptied = gone().filter(|(_, chain)| !chain.rules.is_empty());
    commands.extend(emptied.map(|(name, _)| command("flush", "chain", json!({ "name": name }))));
    for (name, set) in &from.sets {
        if !to.sets.contains_key(name) {
            commands.push(command("delete", set.kind(), json!({ "name": name })));
        }
    }
    commands.extend(gone().map(|(name, _)| command("delete", "chain", json!({ "name": name }))));
    commands
}

fn without(elements: &[Value], others: &[Value]) -> Vec<Value> {
    let others: HashSet<&Value> = others.iter().collect();
    elements
        .iter()
        .filter(|element| !others.contains(element))
        .cloned()
        .collect()
}
